"""What a caller's access answers to the needs of a call, and which condition keys it finds where."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from torpor_account.core.access.needs import AccessNeed, AccessPlace, AccessRefused, CallerAccess, no_path
from torpor_account.core.access.policy_statements import read_policy
from torpor_account.core.access.principals import Principal, PrincipalKind
from torpor_account.core.access.text_patterns import UNKNOWN

PLACE = AccessPlace("1", "us-east-1")
MODEL, ROLE = "arn:aws:sagemaker:us-east-1:1:model/m", "arn:aws:iam::1:role/r"
READ, WRITE = "s3:GetObject", "s3:PutObject"


def statement(effect: str, *actions: str, resource: str = "*") -> dict[str, Any]:
    return {"Effect": effect, "Action": list(actions), "Resource": resource}


def access(*statements: dict[str, Any], **more: Any) -> CallerAccess:
    document = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
    ann = Principal(PrincipalKind.USER, "1", "arn:ann", identity=(read_policy(document, "p"),), name="ann")
    return CallerAccess(ann, PLACE, **more)


def values(key: str, need: AccessNeed, **more: Any) -> Sequence[str] | None:
    return access(statement("Allow", "*"), **more).questions(need)[0].lookup(key)


@pytest.mark.parametrize(
    ("statements", "allowed"),
    [
        ([statement("Allow", READ)], True),
        ([statement("Allow", WRITE)], True),
        ([statement("Allow", "s3:ListBucket")], False),
        ([statement("Allow", "s3:*"), statement("Deny", WRITE)], False),
        ([statement("Allow", READ), statement("Deny", READ)], False),
    ],
)
def test_any_of_the_actions_will_do_and_a_deny_of_any_denies(statements: list[dict[str, Any]], allowed: bool) -> None:
    assert access(*statements).decide(AccessNeed((READ, WRITE), "arn:aws:s3:::b/k")).allowed is allowed


def test_a_resource_may_be_allowed_or_denied_by_its_other_spelling() -> None:
    need = AccessNeed((READ,), "arn:aws:s3:::b/k", aliases=("arn:aws:s3:::b//k",))
    assert len(access(statement("Allow", READ)).questions(need)) == 2
    by_alias = statement("Allow", READ, resource="arn:aws:s3:::b//k")
    assert access(by_alias).decide(need).allowed
    assert not access(statement("Allow", READ), {**by_alias, "Effect": "Deny"}).decide(need).allowed


def test_the_first_need_that_is_not_met_is_refused_and_noted() -> None:
    caller = access(statement("Allow", READ))
    caller.check([AccessNeed((READ,), "arn:aws:s3:::b/k")])
    assert caller.denials == []
    with pytest.raises(AccessRefused) as refused:
        caller.check([AccessNeed((READ,), "arn:aws:s3:::b/k"), AccessNeed((WRITE,), "arn:aws:s3:::b/k")])
    assert refused.value.message == (
        "User: arn:ann is not authorized to perform: s3:PutObject on resource: arn:aws:s3:::b/k "
        "because no identity-based policy allows the s3:PutObject action"
    )
    assert str(refused.value) == refused.value.message
    assert refused.value.why == "no identity-based policy allows it"
    assert [(one.action, one.message) for one in caller.denials] == [(WRITE, refused.value.message)]


def test_a_key_is_the_need_s_own_before_it_is_the_caller_s_or_the_request_s() -> None:
    need = AccessNeed((READ,), MODEL, {"k": ("need",)})
    everyone: Mapping[str, Any] = {
        "of_caller": {"k": ("caller",), "l": ("caller",)},
        "of_request": lambda key: (f"r-{key}",),
    }
    assert [values(key, need, **everyone) for key in "klm"] == [("need",), ("caller",), ("r-m",)]
    assert values("m", need) is None


def test_keys_that_another_request_may_have_otherwise_are_noted() -> None:
    caller = access(statement("Allow", "*"), of_caller={"aws:username": ("ann",)}, now_s=1767225600.9)
    lookup = caller.questions(AccessNeed((READ,), MODEL))[0].lookup
    for key in ("aws:username", "aws:sourceip", "sagemaker:resourcetag/team", "sagemaker:targetmodel"):
        lookup(key)
    assert caller.circumstances == {"aws:sourceip", "sagemaker:resourcetag/team"}
    assert (lookup("aws:currenttime"), lookup("aws:epochtime")) == (("2026-01-01T00:00:00+00:00",), ("1767225600",))
    assert lookup("aws:resourceaccount") == lookup("s3:resourceaccount") == ("1",)


TAGS = {"Team": "a", "team": "b", "Cost": "c"}


@pytest.mark.parametrize(
    ("key", "action", "resource", "found"),
    [
        ("aws:resourcetag/team", READ, MODEL, ("a", "b")),
        ("aws:resourcetag/cost", READ, MODEL, ("c",)),
        ("aws:resourcetag/none", READ, MODEL, None),
        ("sagemaker:resourcetag/cost", "sagemaker:DescribeModel", MODEL, ("c",)),
        ("iam:resourcetag/cost", "iam:GetRole", ROLE, ("c",)),
        ("iam:resourcetag/cost", "sagemaker:DescribeModel", MODEL, None),
        ("aws:resourcetag/cost", READ, "*", None),
        ("aws:resourcetag/cost", READ, None, UNKNOWN),
        ("iam:resourcetag/cost", "iam:GetRole", None, UNKNOWN),
        ("sagemaker:resourcetag/cost", "sagemaker:DescribeModel", None, UNKNOWN),
        ("sagemaker:resourcetag/cost", READ, None, None),
        ("iam:resourcetag/cost", READ, None, None),
    ],
)
def test_a_resource_has_a_key_for_each_of_its_tags(
    key: str, action: str, resource: str | None, found: Sequence[str] | None
) -> None:
    assert values(key, AccessNeed((action,), resource), tags_of=lambda arn: TAGS) == found


def test_tags_that_nobody_knows_here_are_unknown_and_without_a_store_there_are_none() -> None:
    need = AccessNeed((READ,), MODEL)
    assert values("aws:resourcetag/team", need, tags_of=lambda arn: None) is UNKNOWN
    assert values("aws:resourcetag/team", need) is None


def test_a_place_makes_the_arns_of_its_account_and_region() -> None:
    assert PLACE.arn("sqs", "q") == "arn:aws:sqs:us-east-1:1:q"
    assert PLACE.user == "", "nobody, unless it says who"
    assert values("aws:epochtime", AccessNeed((READ,), MODEL)) == ("0",)
    assert (PLACE.path_of("role", "r"), PLACE.boundary_of("role", "r"), no_path("user", "u")) == ("/", None, "/")
