"""A policy that its caller would win, since no request has its condition key, is refused; harmless ones are not."""

import json
from typing import Any

import pytest

from tests.account.helpers.every_right import EVERY_RIGHT, needs_of
from torpor_account.core.access.condition_keys import SERVED
from torpor_account.core.access.conditions import BadPolicy
from torpor_account.core.access.known_keys import check_condition_keys, is_known
from torpor_account.core.access.needs import AccessPlace
from torpor_account.core.access.policy_statements import read_policy
from torpor_account.core.access.principals import anonymous

PLACE = AccessPlace("123456789012", "us-east-1", "ann", boundary_of=lambda kind, name: "arn:b")
EVERYTHING = {
    "AWSServiceName": "s",
    "AlarmActions": ["a"],
    "BlockPublicPolicy": True,
    "Description": "d",
    "Endpoint": "e",
    "ForceDeleteWithoutRecovery": True,
    "ForceOverwriteReplicaSecret": True,
    "Name": "n",
    "Overwrite": True,
    "Policies": "p",
    "Protocol": "sqs",
    "RecoveryWindowInDays": 7,
    "Recursive": True,
    "RotateImmediately": True,
    "RotationLambdaARN": "l",
    "EnableInterContainerTrafficEncryption": True,
    "EnableNetworkIsolation": True,
    "ExecutionRoleArn": "r",
    "InputDataConfig": [
        {
            "DataSource": {
                "FileSystemDataSource": {
                    "DirectoryPath": "/d",
                    "FileSystemAccessMode": "ro",
                    "FileSystemId": "fs-1",
                    "FileSystemType": "EFS",
                }
            }
        }
    ],
    "KmsKeyId": "k",
    "ModelName": "m",
    "Namespace": "n",
    "OutputDataConfig": {"KmsKeyId": "k"},
    "PolicyArn": "p",
    "ProductionVariants": [
        {"ModelName": "m", "InstanceType": "i", "AcceleratorType": "a"},
        {"ModelName": "m", "ServerlessConfig": {"MaxConcurrency": 1, "MemorySizeInMB": 1024}},
    ],
    "RemoteDebugConfig": {"EnableRemoteDebug": True},
    "ResourceConfig": {"InstanceType": "i", "VolumeKmsKeyId": "k", "KeepAlivePeriodInSeconds": 1},
    "RoleArn": "r",
    "ScalableDimension": "d",
    "ServiceNamespace": "s",
    "StoppingCondition": {"MaxRuntimeInSeconds": 1},
    "Tags": [{"Key": "a", "Value": "b"}],
    "TransformOutput": {"KmsKeyId": "k"},
    "TransformResources": {"InstanceType": "i", "VolumeKmsKeyId": "k"},
    "VpcConfig": {"SecurityGroupIds": ["g"], "Subnets": ["s"]},
}
"""All members from which a condition key is made."""


def check(
    effect: str, operator: str, key: str = "kms:ViaService", values: Any = "b", action: str | list[str] = "*"
) -> None:
    statement = {"Effect": effect, "Action": action, "Resource": "*", "Condition": {operator: {key: values}}}
    check_condition_keys(read_policy(json.dumps({"Version": "2012-10-17", "Statement": statement}), "p"))


@pytest.mark.parametrize(
    ("effect", "operator", "values", "verb"),
    [
        ("Deny", "StringEquals", "b", "never deny"),
        ("Deny", "ForAnyValue:StringNotEquals", "b", "never deny"),
        ("Deny", "Null", "false", "never deny"),
        ("Allow", "StringNotEquals", "b", "always allow"),
        ("Allow", "StringEqualsIfExists", "b", "always allow"),
        ("Allow", "ForAllValues:StringEquals", "b", "always allow"),
        ("Allow", "Null", "true", "always allow"),
    ],
)
def test_a_key_that_no_request_has_decides_for_no_caller(effect: str, operator: str, values: str, verb: str) -> None:
    with pytest.raises(
        BadPolicy, match=f"statement 1 would {verb}: no request has the condition key kms:ViaService here"
    ):
        check(effect, operator, values=values)
    for known in ("aws:username", "aws:PrincipalTag/Team", "s3:ExistingObjectTag/owner", "aws:SourceVpce"):
        check(effect, operator, known, values)


@pytest.mark.parametrize(
    ("effect", "operator"),
    [("Allow", "StringEquals"), ("Deny", "StringNotEquals"), ("Deny", "StringEqualsIfExists")],
)
def test_a_key_that_gives_nobody_more_is_harmless(effect: str, operator: str) -> None:
    check(effect, operator)


@pytest.mark.parametrize(
    ("key", "action"),
    [
        ("ec2:AssociatePublicIpAddress", "ec2:RunInstances"),
        ("aws:NeverHeardOf", ["ec2:RunInstances", "lambda:*"]),
        ("ec2:SourceInstanceARN", "*"),
        ("sagemaker:OwnerUserProfileArn", "sagemaker:CreateApp"),
        ("sagemaker:RootAccess", "sagemaker:*"),
        ("token.actions.githubusercontent.com:aud", "sts:AssumeRoleWithWebIdentity"),
    ],
)
def test_keys_of_what_is_not_here_change_nothing(key: str, action: str | list[str]) -> None:
    for effect, operator in (("Deny", "StringEquals"), ("Allow", "ForAllValues:StringEquals")):
        check(effect, operator, key, action=action)


def test_an_unknown_key_of_an_action_that_is_here_is_refused_beside_others() -> None:
    for action in ("*", "kms:*", ["ec2:RunInstances", "kms:Decrypt"]):
        for key in ("kms:ViaService", "aws:NeverHeardOf"):
            with pytest.raises(BadPolicy):
                check("Deny", "StringEquals", key, action=action)


def test_every_key_of_a_call_is_known() -> None:
    needs = [
        need
        for service, rows in EVERY_RIGHT.items()
        for operation in rows
        for need in needs_of(service, operation, EVERYTHING, PLACE)
    ]
    found = {key for need in needs for key in need.keys}
    assert len(found) >= 25
    assert {key for key in found if not is_known(key)} == set()
    assert EVERY_RIGHT.keys() - {"monitoring"} <= SERVED
    assert [key for key in anonymous(PLACE.account).keys if not is_known(key)] == []
