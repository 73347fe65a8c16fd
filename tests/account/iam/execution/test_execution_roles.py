"""Which roles SageMaker may assume, and what a variant's role lacks."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.account.helpers.in_memory_iam import ACCOUNT, NOW_S, database, permissions, trust
from torpor_account.iam.context import Iam
from torpor_account.iam.execution.execution_roles import ExecutionRoles
from torpor_account.iam.execution.refused import RoleRefused
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.iam.identity_records import Role
from torpor_account.storage.tag_store import Tags

READER = f"arn:aws:iam::{ACCOUNT}:role/reader"
SHOP = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:endpoint/shop"


@pytest.fixture
def iam() -> Iterator[Iam]:
    with database() as found:
        yield Iam(found, Tags(found), lambda: NOW_S)


def roles(iam: Iam, document: str, **members: Any) -> ExecutionRoles:
    iam.roles.put(Role("reader", "AROA", 0.0, document, **members))
    directory = Directory(iam, ACCOUNT, KeyPair("AKIAROOT", "root"))
    return ExecutionRoles(directory, ACCOUNT, "us-east-1", lambda: NOW_S)


def condition(operator: str, key: str, value: str) -> str:
    return trust(Condition={operator: {key: value}})


@pytest.mark.parametrize(
    ("document", "assumed"),
    [
        (trust(), True),
        (trust("lambda.amazonaws.com"), False),
        (trust(Principal={"AWS": ACCOUNT}), False),
        (trust(Principal={"Service": ["ec2.amazonaws.com", "sagemaker.amazonaws.com"]}), True),
        (trust(Principal="*"), True),
        (trust(Effect="Deny"), False),
        (trust(Action="sts:TagSession"), False),
        (condition("StringEquals", "aws:SourceAccount", ACCOUNT), True),
        (condition("StringEquals", "aws:SourceAccount", "999999999999"), False),
        (condition("ArnLike", "aws:SourceArn", f"arn:aws:sagemaker:*:{ACCOUNT}:endpoint/*"), True),
        (condition("ArnLike", "aws:SourceArn", f"arn:aws:sagemaker:*:{ACCOUNT}:training-job/*"), False),
    ],
)
def test_the_trust_policy_decides_who_may_assume_the_role(iam: Iam, document: str, assumed: bool) -> None:
    found = roles(iam, document)
    if assumed:
        assert found.assumed(READER, SHOP).principal.role == READER
    else:
        with pytest.raises(RoleRefused):
            found.assumed(READER, SHOP)


@pytest.mark.parametrize("arn", ["arn:aws:iam::999999999999:role/reader", READER.replace("reader", "team/reader")])
def test_a_role_of_another_account_or_path_is_no_role_of_this_one(iam: Iam, arn: str) -> None:
    with pytest.raises(RoleRefused, match=f'The execution role ARN "{arn}" is invalid'):
        roles(iam, trust()).assumed(arn, SHOP)


def test_a_model_without_a_role_has_the_endpoint_s_own(iam: Iam) -> None:
    assert roles(iam, trust()).assumed("", SHOP).principal.role == f"arn:aws:iam::{ACCOUNT}:role/TorporRole"


def test_the_role_of_who_tells_a_topic_must_be_able_to_publish(iam: Iam) -> None:
    topic = f"arn:aws:sns:us-east-1:{ACCOUNT}:done"
    told = roles(iam, trust()).fault(READER, [topic], SHOP)
    assert told is not None
    assert told.endswith(f'and has "sns:Publish" permissions for topic "{topic}"')
    publishes = permissions(Action="sns:Publish", Resource=topic)
    assert roles(iam, trust(), policies={"own": publishes}).fault(READER, [topic], SHOP) is None
