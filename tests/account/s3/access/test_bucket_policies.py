"""A bucket's policy speaks of that bucket, and is public if it lets everybody in without a fixed limit."""

import json
from typing import Any

import pytest

from torpor_account.core.access.conditions import BadPolicy
from torpor_account.s3.access.bucket_policies import checked_policy, is_public

OBJECTS = "arn:aws:s3:::models/*"


def document(effect: str = "Allow", principal: Any = "*", resource: Any = OBJECTS, **condition: Any) -> str:
    statement = {"Effect": effect, "Principal": principal, "Action": "s3:GetObject", "Resource": resource}
    return json.dumps({"Version": "2012-10-17", "Statement": {**statement, "Condition": condition}})


@pytest.mark.parametrize(
    "resource", [OBJECTS, "*", ["arn:aws:s3:::models", "arn:aws:s3:::mod*/a"], "arn:*:s3:::models/a"]
)
def test_a_policy_may_speak_of_its_bucket(resource: Any) -> None:
    checked_policy(document(resource=resource), "models")


@pytest.mark.parametrize(
    "resource", ["arn:aws:s3:::other/*", [OBJECTS, "arn:aws:s3:::models2"], "arn:aws:sqs:::models"]
)
def test_a_policy_of_another_bucket_is_refused(resource: Any) -> None:
    with pytest.raises(BadPolicy, match="Policy has invalid resource"):
        checked_policy(document(resource=resource), "models")


@pytest.mark.parametrize(
    ("given", "public"),
    [
        (document(), True),
        (document(principal={"AWS": ["*"]}), True),
        (document("Deny"), False),
        (document(principal={"AWS": "123456789012"}), False),
        (document(IpAddress={"aws:SourceIp": "10.0.0.0/8"}), False),
        (document(IpAddress={"aws:SourceIp": ["10.0.0.0/8", "0.0.0.0/0"]}), True),
        (document(StringLike={"aws:userid": "*"}), True),
        (document(StringNotEquals={"aws:PrincipalAccount": "1"}), True),
        (document(StringEquals={"aws:UserAgent": "curl"}), True),
    ],
)
def test_what_is_public(given: str, public: bool) -> None:
    assert is_public(checked_policy(given, "models")) is public
