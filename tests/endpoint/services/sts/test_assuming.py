"""Where callers are verified, temporary credentials may assume a role for an hour at most."""

from collections.abc import Iterator

import pytest

from tests.endpoint.services.helpers.in_memory_iam import ACCOUNT, NOW_S, database, permissions, trust
from torpor_endpoint.aws.calls import Call
from torpor_endpoint.aws.errors import AwsError
from torpor_endpoint.core.access.needs import AccessPlace, CallerAccess
from torpor_endpoint.services.iam.context import Iam
from torpor_endpoint.services.iam.identities.directory import Directory, KnownKey
from torpor_endpoint.services.iam.identities.ids import KeyPair
from torpor_endpoint.services.iam.records import AccessKey, Role, TemporaryKey, User
from torpor_endpoint.services.sts.assuming import VerifiedSts, assume_role
from torpor_endpoint.storage.store import Store

ASSUME = permissions(Action="sts:AssumeRole")


@pytest.fixture
def iam() -> Iterator[Iam]:
    with database() as found:
        yield Iam(found, Store(found, lambda: NOW_S), lambda: NOW_S)


def lasting_s(iam: Iam, key: str, asked_s: int) -> float:
    """How long the credentials last that the holder of a key gets. Raises AwsError."""
    directory = Directory(iam, ACCOUNT, KeyPair("AKIAROOT", "root"))
    known = directory.find(key)
    assert isinstance(known, KnownKey)
    access = CallerAccess(known.principal, AccessPlace(ACCOUNT, "us-east-1"), known.keys)
    params = {"RoleArn": f"arn:aws:iam::{ACCOUNT}:role/long", "RoleSessionName": "s1", "DurationSeconds": asked_s}
    call = Call("AssumeRole", params, "us-east-1", ACCOUNT, "request", access)
    answer = assume_role(VerifiedSts(lambda: NOW_S, directory), call)
    return float(answer["Credentials"]["Expiration"]) - NOW_S


@pytest.mark.parametrize(("key", "most_s"), [("AKIAANN", 7200), ("ASIAANN", 3600), ("ASIAROLE", 3600)])
def test_a_chain_of_roles_is_an_hour_long(iam: Iam, key: str, most_s: int) -> None:
    iam.roles.put(Role("long", "AROA", 0.0, trust(Principal={"AWS": ACCOUNT}), session_max_s=43200))
    iam.roles.put(Role("first", "AROB", 0.0, trust(), policies={"own": ASSUME}))
    iam.users.put(User("ann", "AIDA", 0.0, policies={"own": ASSUME}))
    iam.keys.put(AccessKey("AKIAANN", "ann", 0.0, "secret"))
    iam.temporary.put(TemporaryKey("ASIAANN", "secret", "digest", NOW_S + 60, NOW_S, user="ann"))
    iam.temporary.put(TemporaryKey("ASIAROLE", "secret", "digest", NOW_S + 60, NOW_S, role="first"))
    assert lasting_s(iam, key, most_s) == most_s
    if most_s == 3600:
        with pytest.raises(AwsError, match="exceeds the 1 hour session limit for roles assumed by role chaining"):
            lasting_s(iam, key, 3601)
