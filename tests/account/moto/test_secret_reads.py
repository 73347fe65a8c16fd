"""A secret is read by the right to read secrets alone, whichever operation gives it away."""

import asyncio
import json
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_account.core.access.needs import AccessPlace, CallerAccess
from torpor_account.core.access.policy_statements import read_policy
from torpor_account.core.access.principals import Principal, PrincipalKind
from torpor_account.moto.longtail import LongTail
from torpor_account.moto.secret_reads import reads_secrets

ACCOUNT = "333344445555"
NAME = "/aws/reference/secretsmanager/safe"
ESCAPED = rb'{"Name": "\u002faws\/reference/secretsmanager/safe"}'


@pytest.mark.parametrize(
    ("service", "operation", "body", "reads"),
    [
        ("secretsmanager", "BatchGetSecretValue", b"{}", True),
        ("secretsmanager", "ListSecrets", b"{}", False),
        ("ssm", "GetParameter", json.dumps({"Name": NAME}).encode(), True),
        ("ssm", "GetParameters", json.dumps({"Names": ["p", NAME]}).encode(), True),
        ("ssm", "GetParameter", ESCAPED, True),
        ("ssm", "GetParameter", b'{"Name": "/aws/reference/p"}', False),
        ("ssm", "GetParameter", b'{"Name": "', False),
        ("ssm", "PutParameter", json.dumps({"Name": "p", "Value": NAME}).encode(), False),
        ("sqs", "GetQueueUrl", json.dumps({"QueueName": NAME}).encode(), False),
    ],
)
def test_calls_that_give_secrets_away_are_known(service: str, operation: str, body: bytes, reads: bool) -> None:
    assert reads_secrets(service, operation, body) is reads


def caller(*actions: str) -> CallerAccess:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    policy = read_policy(json.dumps({"Version": "2012-10-17", "Statement": [statement]}), "own")
    principal = Principal(PrincipalKind.USER, ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/ann", identity=(policy,))
    return CallerAccess(principal, AccessPlace(ACCOUNT, "us-east-1"))


@pytest.mark.parametrize("access", [None, caller("ssm:*", "secretsmanager:GetSecretValue")])
def test_who_may_read_secrets_may_read_one_as_a_parameter(access: CallerAccess | None) -> None:
    assert parameter(access) == b"{}"


def test_who_may_read_parameters_alone_reads_no_secret() -> None:
    with pytest.raises(AwsError, match="not authorized to perform: secretsmanager:GetSecretValue"):
        parameter(caller("ssm:*"))


def parameter(access: CallerAccess | None) -> bytes:
    def ask(request: AWSPreparedRequest) -> tuple[int, dict[str, str], bytes]:
        return 200, {}, b"{}"

    headers: Any = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "AmazonSSM.GetParameter"}
    tail = LongTail(ACCOUNT, ask)
    try:
        request = AwsRequest("POST", "/", headers, "", ESCAPED, access)
        return asyncio.run(tail.answer("ssm", "GetParameter", request)).body
    finally:
        tail.close()
