"""Whom a policy names exists, and the policy is about that one: not about who has the name later."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.account.helpers.in_memory_iam import ACCOUNT, NOW_S, database, trust
from torpor_account.core.access.conditions import BadPolicy
from torpor_account.core.access.policy_statements import read_policy
from torpor_account.iam.context import Iam
from torpor_account.iam.identity_records import Role, User
from torpor_account.iam.policies.named_principals import ids_named
from torpor_account.storage.tag_store import Tags


@pytest.fixture
def iam() -> Iterator[Iam]:
    with database() as found:
        iam = Iam(found, Tags(found), lambda: NOW_S)
        iam.users.put(User("ann", "AIDA", 0.0, path="/team/"))
        iam.roles.put(Role("r", "AROA", 0.0, trust()))
        yield iam


def named(iam: Iam, *arns: str) -> dict[str, str]:
    return ids_named(iam, ACCOUNT, read_policy(trust(Principal={"AWS": list(arns)}), "p", kind="trust"))


def test_users_roles_and_sessions_have_unique_ids_and_accounts_need_none(iam: Iam) -> None:
    user, role = f"arn:aws:iam::{ACCOUNT}:user/team/ann", f"arn:aws:iam::{ACCOUNT}:role/r"
    session = f"arn:aws:sts::{ACCOUNT}:assumed-role/r/s1"
    assert named(iam, user, role, session) == {user: "AIDA", role: "AROA", session: "AROA:s1"}
    assert named(iam, "*", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root", "arn:aws:iam::111111111111:user/x") == {}


@pytest.mark.parametrize(
    "arn",
    [
        f"arn:aws:iam::{ACCOUNT}:user/ghost",
        f"arn:aws:iam::{ACCOUNT}:user/ann",
        f"arn:aws:iam::{ACCOUNT}:role/*",
        f"arn:aws:sts::{ACCOUNT}:assumed-role/none/s1",
        f"arn:aws:sts::{ACCOUNT}:assumed-role/r/*",
        "ann",
    ],
)
def test_nobody_can_be_named_who_is_not_there(iam: Iam, arn: str) -> None:
    with pytest.raises(BadPolicy, match="Invalid principal in policy") as refused:
        named(iam, arn)
    assert json.dumps(arn) in str(refused.value)


def test_a_role_is_created_only_with_a_trust_policy_of_somebody(iam_client: Any) -> None:
    nobody = trust(Principal={"AWS": f"arn:aws:iam::{ACCOUNT}:user/ghost"})
    with pytest.raises(iam_client.exceptions.MalformedPolicyDocumentException, match="Invalid principal in policy"):
        iam_client.create_role(RoleName="trusting", AssumeRolePolicyDocument=nobody)
