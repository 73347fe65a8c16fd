import base64
import json
from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError

from torpor_account.aws.in_process import client
from torpor_account.sts.service import service

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STS = service(NOON.timestamp, account="123456789012")


def test_the_caller_is_an_assumed_role_of_the_account() -> None:
    identity = client(STS).get_caller_identity()
    assert identity["Account"] == "123456789012"
    assert identity["Arn"] == "arn:aws:sts::123456789012:assumed-role/TorporRole/torpor"


def test_any_role_can_be_assumed_for_an_hour() -> None:
    answer = client(STS).assume_role(RoleArn="arn:aws:iam::210987654321:role/team/Reader", RoleSessionName="me")
    assert answer["AssumedRoleUser"]["Arn"] == "arn:aws:sts::210987654321:assumed-role/Reader/me"
    assert answer["Credentials"]["Expiration"] == NOON.replace(hour=13)
    assert answer["Credentials"]["AccessKeyId"].startswith("ASIA")


@pytest.mark.parametrize("role", ["arn:aws:iam::210987654321:user/Reader", "just-a-long-enough-name"])
def test_an_arn_that_names_no_role_cannot_be_assumed(role: str) -> None:
    with pytest.raises(ClientError, match="ValidationError"):
        client(STS).assume_role(RoleArn=role, RoleSessionName="me")


def test_a_web_identity_assumes_a_role_and_the_answer_has_its_claims() -> None:
    claims = {"sub": "repo:houses", "aud": "sts.amazonaws.com", "iss": "https://tokens.example", "exp": 1}
    middle = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    role = {"RoleArn": "arn:aws:iam::210987654321:role/Reader", "RoleSessionName": "me"}
    answer = client(STS).assume_role_with_web_identity(**role, WebIdentityToken=f"e30.{middle}.x", DurationSeconds=900)
    told = (answer["SubjectFromWebIdentityToken"], answer["Audience"], answer["Provider"])
    assert told == ("repo:houses", "sts.amazonaws.com", "https://tokens.example")
    assert answer["AssumedRoleUser"]["Arn"] == "arn:aws:sts::210987654321:assumed-role/Reader/me"
    assert answer["Credentials"]["Expiration"] == NOON.replace(minute=15)


@pytest.mark.parametrize("token", ["opaque", "a.b.c", "e30.W10.x", "é.é.é"])
def test_a_web_identity_that_is_no_jwt_still_assumes_the_role(token: str) -> None:
    role = {"RoleArn": "arn:aws:iam::210987654321:role/Reader", "RoleSessionName": "me"}
    answer = client(STS).assume_role_with_web_identity(**role, WebIdentityToken=token)
    assert "SubjectFromWebIdentityToken" not in answer
    assert answer["Credentials"]["AccessKeyId"].startswith("ASIA")


def test_users_get_credentials_for_half_a_day() -> None:
    assert client(STS).get_session_token()["Credentials"]["Expiration"] == NOON.replace(day=2, hour=0)
    federated = client(STS).get_federation_token(Name="bob")
    assert federated["FederatedUser"]["Arn"] == "arn:aws:sts::123456789012:federated-user/bob"
    assert federated["Credentials"]["Expiration"] == NOON.replace(day=2, hour=0)


def test_every_key_is_the_accounts_own() -> None:
    assert client(STS).get_access_key_info(AccessKeyId="AKIAIOSFODNN7EXAMPLE")["Account"] == "123456789012"


def test_the_answer_has_the_source_identity() -> None:
    role = {"RoleArn": "arn:aws:iam::210987654321:role/Reader", "RoleSessionName": "me"}
    assert client(STS).assume_role(**role, SourceIdentity="alice")["SourceIdentity"] == "alice"


def test_an_operation_that_is_not_implemented_is_an_invalid_action() -> None:
    with pytest.raises(ClientError, match="InvalidAction"):
        client(STS).decode_authorization_message(EncodedMessage="x")
