"""The directory finds callers with the policies that hold for them, and errs on the side of no."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.account.helpers.in_memory_iam import ACCOUNT, NOW_S, database, permissions, trust
from torpor_account.core.access.evaluation import decide
from torpor_account.core.access.policy_statements import AccessQuestion
from torpor_account.core.access.principals import PrincipalKind
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.iam.identity_records import AccessKey, ManagedPolicy, Role, TemporaryKey, User
from torpor_account.storage.tag_store import Tags

ROOT = KeyPair("AKIAROOT", "root")
POLICY = f"arn:aws:iam::{ACCOUNT}:policy/p"


@pytest.fixture
def iam() -> Iterator[Iam]:
    with database() as found:
        yield Iam(found, Tags(found), lambda: NOW_S)


@pytest.fixture
def directory(iam: Iam) -> Directory:
    return Directory(iam, ACCOUNT, ROOT)


def may(directory: Directory, key: str, action: str = "s3:GetObject", **context: list[str]) -> bool:
    known = directory.find(key)
    assert known is not None
    keys = {**known.keys, **context}
    return decide(known.principal, AccessQuestion(action, "arn:aws:s3:::b/k", keys.get)).allowed


def user(iam: Iam, **members: Any) -> str:
    iam.users.put(User("ann", "AIDA", 0.0, **members))
    iam.keys.put(AccessKey("AKIAANN", "ann", 0.0, "secret"))
    return "AKIAANN"


def managed(iam: Iam, document: str) -> None:
    iam.managed.put(ManagedPolicy("p", "ANPA", 0.0, 0.0, {"v1": document}, {"v1": 0.0}))


def test_the_root_has_a_key_that_no_table_has(directory: Directory) -> None:
    root = directory.find("AKIAROOT")
    assert root is not None
    assert (root.secret, root.principal.kind) == ("root", PrincipalKind.ROOT)
    assert directory.find("AKIANOBODY") is None


def test_inline_and_attached_policies_hold_and_an_unknown_one_allows_nothing(iam: Iam, directory: Directory) -> None:
    managed(iam, permissions())
    assert may(directory, user(iam, policies={"own": permissions()}))
    directory.forget()
    assert may(directory, user(iam, attached=(POLICY,)))
    directory.forget()
    assert not may(directory, user(iam, attached=(f"{POLICY}-none",)))
    directory.forget()
    assert may(directory, user(iam, attached=("arn:aws:iam::aws:policy/AdministratorAccess",)))


def test_a_boundary_limits_and_an_unknown_one_leaves_nothing(iam: Iam, directory: Directory) -> None:
    managed(iam, permissions(Action="sqs:*"))
    for boundary in (POLICY, f"{POLICY}-none"):
        key = user(iam, policies={"own": permissions()}, boundary=boundary)
        directory.forget()
        assert not may(directory, key)


def test_a_stored_policy_that_cannot_be_read_denies_everything(iam: Iam, directory: Directory) -> None:
    broken = json.dumps(
        {"Statement": {"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": {"Odd": {"k": "v"}}}}
    )
    assert not may(directory, user(iam, policies={"own": permissions(), "broken": broken}))


def test_a_change_is_seen_once_it_is_told(iam: Iam, directory: Directory) -> None:
    key = user(iam, policies={"own": permissions()})
    assert may(directory, key)
    iam.users.put(User("ann", "AIDA", 0.0))
    directory.forget()
    assert not may(directory, key)
    iam.users.remove("ann")
    directory.forget()
    assert directory.find(key) is None


def test_a_session_ends_with_its_role_and_has_the_tags_of_both(iam: Iam, directory: Directory) -> None:
    role = Role("r", "AROA", 0.0, trust(), path="/team/", policies={"own": permissions()})
    iam.roles.put(role)
    iam.tags.put(role.arn(ACCOUNT), {"Team": "a", "Tenant": "roles"})
    iam.temporary.put(TemporaryKey("ASIA1", "s", "t", NOW_S + 60, NOW_S, "r", None, "AROA", "s1", tags={"tenant": "b"}))
    known = directory.find("ASIA1")
    assert known is not None
    assert known.principal.role == f"arn:aws:iam::{ACCOUNT}:role/team/r"
    assert (known.keys["aws:principaltag/team"], known.keys["aws:principaltag/tenant"]) == (("a",), ("b",))
    assert known.keys["aws:principalarn"] == (f"arn:aws:iam::{ACCOUNT}:role/team/r",)
    assert known.keys["aws:multifactorauthpresent"] == ("false",)
    assert directory.path_of("role", "r") == "/team/"
    assert directory.boundary_of("role", "r") is None
    iam.roles.remove("r")
    directory.forget()
    assert directory.find("ASIA1") is None


def test_credentials_end_with_their_user_and_role_though_new_ones_have_the_names(
    iam: Iam, directory: Directory
) -> None:
    iam.users.put(User("ann", "AIDAOLD", 0.0))
    iam.roles.put(Role("r", "AROAOLD", 0.0, trust()))
    iam.temporary.put(TemporaryKey("ASIAUSER", "s", "t", NOW_S + 60, NOW_S, user="ann", holder_id="AIDAOLD"))
    iam.temporary.put(TemporaryKey("ASIAROLE", "s", "t", NOW_S + 60, NOW_S, role="r", holder_id="AROAOLD"))
    assert directory.find("ASIAUSER") is not None
    assert directory.find("ASIAROLE") is not None
    iam.users.put(User("ann", "AIDANEW", 0.0))
    iam.roles.put(Role("r", "AROANEW", 0.0, trust()))
    directory.forget()
    assert directory.find("ASIAUSER") is None
    assert directory.find("ASIAROLE") is None


def test_a_trust_policy_knows_the_unique_ids_of_those_whom_it_trusts(iam: Iam, directory: Directory) -> None:
    ann, role = f"arn:aws:iam::{ACCOUNT}:user/ann", f"arn:aws:iam::{ACCOUNT}:role/r"
    document = trust(Principal={"AWS": ann})
    iam.roles.put(Role("r", "AROA", 0.0, document, trusted={ann: "AIDAOLD"}))
    of_role = directory.trust(role)
    assert of_role is not None
    (statement,) = of_role.statements
    assert statement.principals is not None
    assert statement.principals.has(ann, "AIDAOLD")
    assert not statement.principals.has(ann, "AIDANEW")


def test_expired_credentials_are_removed_when_new_ones_are_stored(iam: Iam, directory: Directory) -> None:
    directory.keep(TemporaryKey("ASIAOLD", "s", "t", NOW_S - 1, NOW_S - 60, role="TorporRole"))
    directory.keep(TemporaryKey("ASIANEW", "s", "t", NOW_S + 60, NOW_S, role="TorporRole"))
    assert [key.name for key in iam.temporary.all()] == ["ASIANEW"]


def test_a_role_that_has_policies_of_its_own_gets_no_other(iam: Iam) -> None:
    role = iam.roles.get("TorporRole")
    assert role is None
    Directory(iam, ACCOUNT, ROOT)
    iam.change_role("TorporRole", lambda role: Role(**{**vars(role), "policies": {"mine": permissions()}}))
    Directory(iam, ACCOUNT, ROOT)
    assert list(iam.role("TorporRole").policies) == ["mine"]
