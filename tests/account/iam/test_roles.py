"""Roles: created, shown, changed, listed, deleted, and kept over a restart."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.in_memory_iam import ACCOUNT, NOW_S, database, iam_over, permissions, trust

SLR = "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
AUTOSCALING = "sagemaker.application-autoscaling.amazonaws.com"


def code_of(caught: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_a_role_is_shown_as_it_was_created(iam: Any) -> None:
    tags = [{"Key": "team", "Value": "search"}]
    wanted = {"Description": "It reads.", "MaxSessionDuration": 7200, "Path": "/service-role/", "Tags": tags}
    created = iam.create_role(RoleName="writer", AssumeRolePolicyDocument=trust(), **wanted)["Role"]
    shown = iam.get_role(RoleName="writer")["Role"]
    assert shown == created
    assert {name: shown[name] for name in wanted} == wanted
    assert shown["Arn"] == f"arn:aws:iam::{ACCOUNT}:role/service-role/writer"
    assert shown["CreateDate"].timestamp() == NOW_S
    assert shown["RoleId"].startswith("AROA")
    assert shown["AssumeRolePolicyDocument"] == json.loads(trust())


def test_the_default_role_trusts_sagemaker_and_cannot_be_deleted(iam: Any) -> None:
    role = iam.get_role(RoleName="TorporRole")["Role"]
    assert role["Arn"] == f"arn:aws:iam::{ACCOUNT}:role/TorporRole"
    assert role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"Service": "sagemaker.amazonaws.com"}
    with pytest.raises(ClientError) as caught:
        iam.delete_role(RoleName="TorporRole")
    assert code_of(caught) == ("UnmodifiableEntity", 400)


def test_a_name_is_taken_whatever_its_case(iam: Any) -> None:
    with pytest.raises(ClientError, match="Role with name Reader already exists") as caught:
        iam.create_role(RoleName="Reader", AssumeRolePolicyDocument=trust())
    assert code_of(caught) == ("EntityAlreadyExists", 409)


def test_a_missing_role_is_no_such_entity(iam: Any) -> None:
    with pytest.raises(ClientError, match="The role with name nobody cannot be found") as caught:
        iam.get_role(RoleName="nobody")
    assert code_of(caught) == ("NoSuchEntity", 404)


def test_a_role_is_deleted_only_after_its_policies(iam: Any) -> None:
    arn = "arn:aws:iam::aws:policy/AmazonSageMakerFullAccess"
    iam.attach_role_policy(RoleName="reader", PolicyArn=arn)
    iam.put_role_policy(RoleName="reader", PolicyName="objects", PolicyDocument=permissions())
    for remedy in (iam.detach_role_policy, iam.delete_role_policy):
        with pytest.raises(ClientError) as caught:
            iam.delete_role(RoleName="reader")
        assert code_of(caught) == ("DeleteConflict", 409)
        remedy(
            RoleName="reader", **({"PolicyArn": arn} if remedy == iam.detach_role_policy else {"PolicyName": "objects"})
        )
    assert iam.list_instance_profiles_for_role(RoleName="reader")["InstanceProfiles"] == []
    iam.delete_role(RoleName="reader")
    assert [role["RoleName"] for role in iam.list_roles()["Roles"]] == ["TorporRole"]


def test_a_role_created_again_has_none_of_its_old_tags(iam: Any) -> None:
    iam.tag_role(RoleName="reader", Tags=[{"Key": "old", "Value": "1"}])
    iam.delete_role(RoleName="reader")
    iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust())
    assert iam.list_role_tags(RoleName="reader")["Tags"] == []


def test_an_update_changes_only_the_named_members(iam: Any) -> None:
    iam.update_role(RoleName="reader", Description="new")
    iam.update_role(RoleName="reader", MaxSessionDuration=43200)
    iam.update_assume_role_policy(RoleName="reader", PolicyDocument=trust("ec2.amazonaws.com"))
    boundary = f"arn:aws:iam::{ACCOUNT}:policy/limits"
    iam.put_role_permissions_boundary(RoleName="reader", PermissionsBoundary=boundary)
    role = iam.get_role(RoleName="reader")["Role"]
    assert (role["Description"], role["MaxSessionDuration"]) == ("new", 43200)
    assert role["AssumeRolePolicyDocument"] == json.loads(trust("ec2.amazonaws.com"))
    assert role["PermissionsBoundary"]["PermissionsBoundaryArn"] == boundary
    iam.delete_role_permissions_boundary(RoleName="reader")
    assert "PermissionsBoundary" not in iam.get_role(RoleName="reader")["Role"]


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("no json", "This policy contains invalid Json"),
        ("{}", "This policy contains invalid Json"),
        (trust(Resource="*"), "Has prohibited field Resource"),
        (trust(Effect="Maybe"), "Missing required field Effect"),
        ('{"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole"}}', "Missing required field Principal"),
    ],
)
def test_a_trust_policy_that_is_none_is_malformed(iam: Any, document: str, why: str) -> None:
    with pytest.raises(ClientError, match=why) as caught:
        iam.create_role(RoleName="writer", AssumeRolePolicyDocument=document)
    assert code_of(caught) == ("MalformedPolicyDocument", 400)


def test_a_trust_policy_is_bounded_white_space_aside(iam: Any) -> None:
    iam.update_assume_role_policy(RoleName="reader", PolicyDocument=trust() + " " * 3000)
    with pytest.raises(ClientError, match="Cannot exceed quota for ACLSizePerRole: 2048"):
        iam.update_assume_role_policy(RoleName="reader", PolicyDocument=trust("a" * 2048))


def test_roles_are_paged_by_name_and_filtered_by_path(iam: Any) -> None:
    for name in ("a", "c", "b"):
        iam.create_role(RoleName=name, Path="/team/", AssumeRolePolicyDocument=trust())
    pages = list(iam.get_paginator("list_roles").paginate(PathPrefix="/team/", PaginationConfig={"PageSize": 2}))
    assert [[role["RoleName"] for role in page["Roles"]] for page in pages] == [["a", "b"], ["c"]]
    assert "Tags" not in pages[0]["Roles"][0]
    with pytest.raises(ClientError, match="Invalid Marker"):
        iam.list_roles(Marker="guessed")


def test_a_restart_keeps_roles_with_all_that_belongs_to_them(tmp_path: Path) -> None:
    with database(tmp_path / "torpor.sqlite") as first:
        iam = iam_over(first)
        iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust(), Tags=[{"Key": "a", "Value": "1"}])
        iam.attach_role_policy(RoleName="reader", PolicyArn="arn:aws:iam::aws:policy/job-function/ViewOnlyAccess")
        before = iam.get_role(RoleName="reader")["Role"]
    with database(tmp_path / "torpor.sqlite") as again:
        iam = iam_over(again)
        assert iam.get_role(RoleName="reader")["Role"] == before
        attached = iam.list_attached_role_policies(RoleName="reader")["AttachedPolicies"]
        assert [policy["PolicyName"] for policy in attached] == ["ViewOnlyAccess"]


def test_the_service_linked_role_of_autoscaling_is_created_once_and_deleted_by_its_own_operation(iam: Any) -> None:
    role = iam.create_service_linked_role(AWSServiceName=AUTOSCALING)["Role"]
    assert role["Arn"] == f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/{AUTOSCALING}/{SLR}"
    with pytest.raises(ClientError, match=f"Service role name {SLR} has been taken in this account"):
        iam.create_service_linked_role(AWSServiceName=AUTOSCALING)
    with pytest.raises(ClientError, match="UnmodifiableEntity"):
        iam.delete_role(RoleName=SLR)
    task = iam.delete_service_linked_role(RoleName=SLR)["DeletionTaskId"]
    assert iam.get_service_linked_role_deletion_status(DeletionTaskId=task)["Status"] == "SUCCEEDED"
    with pytest.raises(ClientError, match="NoSuchEntity"):
        iam.get_role(RoleName=SLR)


def test_every_action_is_allowed_on_every_resource(iam: Any) -> None:
    role, actions = iam.get_role(RoleName="TorporRole")["Role"]["Arn"], ["s3:GetObject", "iam:PassRole"]
    results = iam.simulate_principal_policy(PolicySourceArn=role, ActionNames=actions)["EvaluationResults"]
    assert [(found["EvalActionName"], found["EvalDecision"]) for found in results] == [(a, "allowed") for a in actions]
    paginator = iam.get_paginator("simulate_principal_policy")
    pages = paginator.paginate(
        PolicySourceArn=role, ActionNames=actions, ResourceArns=["arn:a", "arn:b"], PaginationConfig={"PageSize": 3}
    )
    assert [len(page["EvaluationResults"]) for page in pages] == [3, 1]


def test_a_policy_document_is_returned_unchanged(iam: Any) -> None:
    document = permissions(Condition={"StringLike": {"s3:prefix": 'a+b %20&c/<\u00e9>"\\'}})
    iam.put_role_policy(RoleName="reader", PolicyName="p", PolicyDocument=document)
    assert iam.get_role_policy(RoleName="reader", PolicyName="p")["PolicyDocument"] == json.loads(document)
