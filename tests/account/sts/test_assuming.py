"""Where callers are verified: how long temporary credentials last, whose they are, and the tags of sessions."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.account.helpers.in_memory_iam import ACCOUNT, NOW_S, database, permissions, trust
from torpor_account.aws.calls import Call, Operation
from torpor_account.aws.errors import AwsError
from torpor_account.core.access.needs import AccessPlace, CallerAccess
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.directory import Directory, KnownKey
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.iam.identity_records import AccessKey, Role, TemporaryKey, User
from torpor_account.storage.tag_store import Tags
from torpor_account.sts.assuming import VerifiedSts, assume_role, get_session_token

ASSUME = permissions(Action="sts:AssumeRole")


@pytest.fixture
def iam() -> Iterator[Iam]:
    with database() as found:
        yield Iam(found, Tags(found), lambda: NOW_S)


def called(iam: Iam, key: str, operation: Operation[VerifiedSts], **params: Any) -> Any:
    """The credentials that the holder of a key gets. Raises AwsError."""
    directory = Directory(iam, ACCOUNT, KeyPair("AKIAROOT", "root"))
    known = directory.find(key)
    assert isinstance(known, KnownKey)
    access = CallerAccess(known.principal, AccessPlace(ACCOUNT, "us-east-1"), known.keys)
    call = Call("", params, "us-east-1", ACCOUNT, "request", access)
    answer: Any = operation(VerifiedSts(lambda: NOW_S, directory), call)
    return answer["Credentials"]


def assumed(iam: Iam, key: str, role: str, **params: Any) -> Any:
    arn = f"arn:aws:iam::{ACCOUNT}:role/{role}"
    return called(iam, key, assume_role, RoleArn=arn, RoleSessionName="s1", **params)


def lasting_s(iam: Iam, key: str, asked_s: int) -> float:
    """How long the credentials last that the holder of a key gets. Raises AwsError."""
    return float(assumed(iam, key, "long", DurationSeconds=asked_s)["Expiration"]) - NOW_S


@pytest.mark.parametrize(("key", "most_s"), [("AKIAANN", 7200), ("ASIAANN", 3600), ("ASIAROLE", 3600)])
def test_a_chain_of_roles_is_an_hour_long(iam: Iam, key: str, most_s: int) -> None:
    iam.roles.put(Role("long", "AROA", 0.0, trust(Principal={"AWS": ACCOUNT}), session_max_s=43200))
    iam.roles.put(Role("first", "AROB", 0.0, trust(), policies={"own": ASSUME}))
    iam.users.put(User("ann", "AIDA", 0.0, policies={"own": ASSUME}))
    iam.keys.put(AccessKey("AKIAANN", "ann", 0.0, "secret"))
    iam.temporary.put(TemporaryKey("ASIAANN", "secret", "digest", NOW_S + 60, NOW_S, user="ann", holder_id="AIDA"))
    iam.temporary.put(TemporaryKey("ASIAROLE", "secret", "digest", NOW_S + 60, NOW_S, role="first", holder_id="AROB"))
    assert lasting_s(iam, key, most_s) == most_s
    if most_s == 3600:
        with pytest.raises(AwsError, match="exceeds the 1 hour session limit for roles assumed by role chaining"):
            lasting_s(iam, key, 3601)


def ann_and_her_role(iam: Iam) -> None:
    iam.roles.put(Role("r", "AROA", 0.0, trust(Principal={"AWS": "*"}, Action=["sts:AssumeRole", "sts:TagSession"])))
    iam.users.put(User("ann", "AIDA", 0.0, policies={"own": permissions(Action="sts:*")}))
    iam.keys.put(AccessKey("AKIAANN", "ann", 0.0, "secret"))


def test_temporary_credentials_are_of_the_unique_id_of_their_holder(iam: Iam) -> None:
    ann_and_her_role(iam)
    of_role, of_user = assumed(iam, "AKIAANN", "r"), called(iam, "AKIAANN", get_session_token)
    of_root = called(iam, "AKIAROOT", get_session_token)
    kept = {key.name: (key.role, key.user, key.holder_id) for key in iam.temporary.all()}
    assert kept == {
        of_role["AccessKeyId"]: ("r", None, "AROA"),
        of_user["AccessKeyId"]: (None, "ann", "AIDA"),
        of_root["AccessKeyId"]: (None, None, ""),
    }


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        (("tenant", "Tenant"), "Duplicate tag keys found. Please note that Tag keys are case insensitive."),
        (("Tenant", "Tenant"), "Duplicate tag keys found"),
        (("Tenant", "aws:Tenant"), "keys that begin with aws: are reserved"),
    ],
)
def test_each_session_tag_has_a_key_of_its_own(iam: Iam, keys: tuple[str, ...], why: str) -> None:
    ann_and_her_role(iam)
    with pytest.raises(AwsError, match=why):
        assumed(iam, "AKIAANN", "r", Tags=[{"Key": key, "Value": "a"} for key in keys])
    assert iam.temporary.all() == ()
