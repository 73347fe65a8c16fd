"""Where policies are enforced, no operation of IAM or STS is answered by somebody whom nothing heeds."""

import asyncio
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.in_memory_iam import ACCOUNT, NOW_S, database
from torpor_account.aws.calls import Unanswered
from torpor_account.aws.in_process import client
from torpor_account.aws.service_models import service_model
from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_account.iam import service as iam
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.iam.policies.managed import SHOWING
from torpor_account.iam.unenforced import HARMLESS, REFUSED, refusing_unenforced
from torpor_account.storage.tag_store import Tags
from torpor_account.sts import service as sts

ALL = sorted(service_model("iam").operation_names)


async def moto(service: str, operation: str, request: AwsRequest) -> Response:
    return Response(200, operation.encode(), {})


def test_each_operation_of_iam_is_ours_or_harmless_or_refused() -> None:
    """For a new operation, add a row to one of the tables of unenforced.py, or to OPERATIONS."""
    tables = (iam.OPERATIONS, HARMLESS, REFUSED)
    assert [name for name in ALL if sum(name in table for table in tables) != 1] == []


def test_the_tables_name_no_operation_that_iam_lacks() -> None:
    assert {*HARMLESS, *REFUSED, *SHOWING, *iam.OPERATIONS} <= set(ALL)
    assert set(iam.OPERATIONS) >= SHOWING


def test_only_what_is_harmless_reaches_moto() -> None:
    answer = refusing_unenforced(moto)
    for operation in (name for name in ALL if name not in iam.OPERATIONS):
        answering = answer("iam", operation, AwsRequest("POST", "/", {}))
        if operation in HARMLESS:
            assert asyncio.run(answering).body == operation.encode()
        else:
            with pytest.raises(Unanswered, match=f"{operation} of iam while --auth is on: {REFUSED[operation]}"):
                asyncio.run(answering)


def test_an_operation_that_botocore_learns_tomorrow_is_refused() -> None:
    with pytest.raises(Unanswered, match="GrantEverything of iam while --auth is on: it is new"):
        asyncio.run(refusing_unenforced(moto)("iam", "GrantEverything", AwsRequest("POST", "/", {})))


def test_sts_leaves_nothing_to_moto() -> None:
    """So what it lacks is refused at once, as an operation that Torpor does not implement."""
    lacking = set(service_model("sts").operation_names) - set(sts.OPERATIONS)
    with database() as found:
        context = Iam(found, Tags(found), lambda: NOW_S)
        directory = Directory(context, ACCOUNT, KeyPair("AKIAROOT", "root"))
        service = sts.service(lambda: NOW_S, account=ACCOUNT, directory=directory)
        assert set(sts.VERIFIED) | {"GetAccessKeyInfo"} == set(sts.OPERATIONS)
        with pytest.raises(ClientError, match="does not implement the operation DecodeAuthorizationMessage"):
            client(service).decode_authorization_message(EncodedMessage="x")
    assert "DecodeAuthorizationMessage" in lacking


def test_awss_own_policies_cannot_be_changed() -> None:
    arn = "arn:aws:iam::aws:policy/AdministratorAccess"
    document = '{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]}'
    with database() as found:
        context = Iam(found, Tags(found), lambda: NOW_S)
        made: Any = client(iam.service(context, account=ACCOUNT, otherwise=moto))
        with pytest.raises(ClientError, match=r"AccessDenied.*one of AWS's own policies"):
            made.create_policy_version(PolicyArn=arn, PolicyDocument=document, SetAsDefault=True)
