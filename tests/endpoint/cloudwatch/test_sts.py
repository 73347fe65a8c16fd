from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError

from torpor_endpoint.aws.in_process import client
from torpor_endpoint.sts import sts_service

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STS = sts_service(NOON.timestamp, account="123456789012")


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
def test_what_is_no_role_cannot_be_assumed(role: str) -> None:
    with pytest.raises(ClientError, match="ValidationError"):
        client(STS).assume_role(RoleArn=role, RoleSessionName="me")


def test_an_operation_that_is_not_implemented_is_an_invalid_action() -> None:
    with pytest.raises(ClientError, match="InvalidAction"):
        client(STS).get_session_token()
