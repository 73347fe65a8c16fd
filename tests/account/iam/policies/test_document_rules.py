"""Documents that AWS takes are taken, unless Torpor would decide otherwise than AWS by them."""

import json
from typing import Any

import pytest

from torpor_account.core.access.condition_keys import SERVED
from torpor_account.core.access.policy_statements import read_policy
from torpor_account.iam.policies import aws_managed
from torpor_account.iam.policies.document_rules import check_permissions
from torpor_account.moto.longtail import SERVICES
from torpor_account.s3.access.bucket_policies import checked_policy

PREFIX = "arn:aws:iam::aws:policy/"


@pytest.mark.parametrize(
    "name", ["AmazonSageMakerFullAccess", "AmazonS3FullAccess", "IAMFullAccess", "job-function/DataScientist"]
)
def test_awss_own_policies_can_be_stored_as_ones_own(name: str) -> None:
    document = aws_managed.document(f"{PREFIX}{name}")
    assert document is not None
    check_permissions(document)


def document(**members: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Resource": "*", **members}})


def test_every_action_of_every_service_has_two_spellings() -> None:
    for action in ("*", "*:*"):
        check_permissions(document(Action=action))
        assert read_policy(document(Action=action), "p").statements[0].concerns("sagemaker:InvokeEndpoint")


@pytest.mark.parametrize(
    "principal",
    [
        {"CanonicalUser": "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"},
        {"AWS": "arn:aws:iam::cloudfront:user/CloudFront Origin Access Identity EH1HDMB1FH2TC"},
        {"Service": "cloudfront.amazonaws.com"},
    ],
)
def test_a_buckets_policy_may_name_whoever_never_comes_here(principal: dict[str, str]) -> None:
    checked_policy(document(Action="s3:GetObject", Resource="arn:aws:s3:::b/*", Principal=principal), "b")


def test_every_service_that_moto_answers_has_condition_keys_to_be_checked() -> None:
    assert set(SERVICES) <= SERVED
