"""Each row is of an operation that AWS has, and of the resource that AWS's reference lists for it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from torpor_account.aws.service_models import service_model
from torpor_account.core.access.needs import AccessNeed, AccessPlace
from torpor_account.core.access.rights.account_rights import RIGHTS
from torpor_account.core.access.rights.right_rows import (
    ANY,
    OperationRight,
    aliases_of,
    anything,
    arn_in,
    both,
    default_role,
    listed,
    member_at,
    members,
    needs_of,
    rows,
    same,
    tag_keys,
    target_name,
    unnamed,
)

PLACE = AccessPlace("1", "eu-west-1")
IAM = "arn:aws:iam::1"
GIVEN = {
    "RoleName": "r",
    "UserName": "u",
    "GroupName": "g",
    "PolicyName": "p",
    "PolicyArn": f"{IAM}:policy/attached",
    "PolicySourceArn": f"{IAM}:user/asked-about",
    "NewUserName": "v",
    "NewGroupName": "h",
    "NewPath": "/new/",
    "AlarmName": "a",
    "AlarmNames": ["b", "c"],
    "logGroupName": "lg",
    "logStreamName": "ls",
}
OF_THE_ACCOUNT = {
    *("ListRoles", "ListUsers", "ListGroups", "ListPolicies", "GetAccountAuthorizationDetails", "SimulateCustomPolicy"),
    *("GetContextKeysForCustomPolicy", "GetAccessKeyInfo", "PutMetricData", "GetMetricData", "GetMetricStatistics"),
    *("ListMetrics", "DescribeAlarmsForMetric"),
}
OF_ONE_ALARM = {"PutMetricAlarm", "SetAlarmState", "DescribeAlarmHistory"}
FREE = {"GetCallerIdentity", "GetSessionToken", "AssumeRole"}
UNNAMED = {"CreateServiceLinkedRole"}


def iam_resources(operation: str) -> list[str]:
    """By the words of an operation's name."""
    if operation == "SimulatePrincipalPolicy":
        return [GIVEN["PolicySourceArn"]]  # type: ignore[list-item]
    if operation in ("UpdateUser", "UpdateGroup"):
        kind, old, new = ("user", "u", "v") if operation == "UpdateUser" else ("group", "g", "h")
        return [f"{IAM}:{kind}/{old}", f"{IAM}:{kind}/new/{new}"]
    if "Group" in operation and operation != "ListGroupsForUser":
        return [f"{IAM}:group/g"]
    if "User" in operation or "AccessKey" in operation:
        return [f"{IAM}:user/u"]
    if "Role" in operation:
        return [f"{IAM}:role/r"]
    return [f"{IAM}:policy/{'p' if operation == 'CreatePolicy' else 'attached'}"]


def resources(service: str, operation: str) -> Sequence[str | None]:
    if operation in OF_THE_ACCOUNT:
        return ANY
    if service == "iam" and operation not in UNNAMED:
        return iam_resources(operation)
    if service == "cloudwatch":
        names = ["a"] if operation in OF_ONE_ALARM else ["b", "c"]
        return [f"arn:aws:cloudwatch:eu-west-1:1:alarm:{name}" for name in names]
    if service == "logs":
        stream = ":log-stream:ls" if operation in ("GetLogEvents", "DeleteLogStream") else ""
        return [f"arn:aws:logs:eu-west-1:1:log-group:lg{stream}"]
    return [None]


def test_services_with_rows_are_those_that_aws_has() -> None:
    assert all(service_model(service).operation_names for service in RIGHTS)


@pytest.mark.parametrize("service", sorted(RIGHTS))
def test_a_row_is_of_an_operation_that_aws_has_and_names_its_resource(service: str) -> None:
    assert set(RIGHTS[service]) <= set(service_model(service).operation_names)
    for operation in RIGHTS[service]:
        needs = list(needs_of(service, operation, GIVEN, PLACE, RIGHTS[service]))
        if operation in FREE:
            assert needs == []
            continue
        assert {need.actions for need in needs} == {(f"{service}:{operation}",)}
        assert [need.resource for need in needs] == [*resources(service, operation)], operation


@pytest.mark.parametrize(
    ("operation", "params", "arns"),
    [
        ("GetRole", {}, [None]),
        ("GetUser", {}, ["user/boss/me"]),
        ("GetGroup", {}, [None]),
        ("CreateRole", {"RoleName": "r", "Path": "/p/"}, ["role/p/r"]),
        ("UpdateUser", {"UserName": "u", "NewUserName": "v"}, ["user/boss/u", "user/boss/v"]),
        ("UpdateUser", {"UserName": "u", "NewPath": "/p/"}, ["user/boss/u", "user/p/u"]),
        ("UpdateUser", {}, ["user/boss/me", "user/boss/me"]),
        ("UpdateGroup", {"GroupName": "g"}, ["group/boss/g", "group/boss/g"]),
        ("UpdateGroup", {}, [None, None]),
        ("GetPolicy", {}, [None]),
        ("SimulatePrincipalPolicy", {}, [None]),
    ],
)
def test_paths_are_those_of_the_call_or_of_what_there_is(
    operation: str, params: dict[str, Any], arns: list[str | None]
) -> None:
    place = AccessPlace("1", "eu-west-1", "me", lambda kind, name: "/boss/")
    found = [need.resource for need in needs_of("iam", operation, params, place, RIGHTS["iam"])]
    assert found == [arn and f"{IAM}:{arn}" for arn in arns]


@pytest.mark.parametrize(
    ("operation", "member", "kind"), [("UpdateRole", "RoleName", "role"), ("DeleteUserPolicy", "UserName", "user")]
)
def test_the_boundary_of_who_is_changed_and_the_policy_to_attach_are_keys(
    operation: str, member: str, kind: str
) -> None:
    place = AccessPlace("1", "eu-west-1", "me", boundary_of=lambda kind, name: f"{kind} {name}")
    params = {member: "x", "PolicyArn": "arn:p"}
    (need,) = needs_of("iam", operation, params, place, RIGHTS["iam"])
    assert need.keys == {"iam:permissionsboundary": [f"{kind} x"], "iam:policyarn": ["arn:p"]}
    (own,) = needs_of("iam", operation, {}, place, RIGHTS["iam"])
    assert own.keys == {"iam:permissionsboundary": [f"{kind} me"]}


def test_a_log_group_is_named_or_identified_and_a_stream_may_be_any() -> None:
    def resource(operation: str, **params: str) -> str | None:
        (need,) = needs_of("logs", operation, params, PLACE, RIGHTS["logs"])
        return need.resource

    arn = "arn:aws:logs:eu-west-1:1:log-group:lg"
    assert resource("FilterLogEvents", logGroupIdentifier="lg") == arn
    assert resource("FilterLogEvents", logGroupName="lg", logGroupIdentifier="other") == arn
    assert resource("GetLogEvents", logGroupName="lg") == f"{arn}:log-stream:"
    assert resource("GetLogEvents") is None


# -- the parts of rows -------------------------------------------------------------------------------------------------
def test_a_row_says_no_more_than_it_is_told() -> None:
    row = OperationRight(anything)
    assert (row.passes, row.tagged, row.always_passes, row.free) == ((), False, False, False)
    assert row.keys({"a": 1}, PLACE) == {}
    made = rows(unnamed, "A", "B", free=True)
    assert {name: (one.resources, one.free) for name, one in made.items()} == dict.fromkeys("AB", (unnamed, True))


@pytest.mark.parametrize("service", ["sagemaker-runtime", "sagemaker-metrics", "events", "sagemaker"])
def test_actions_have_the_name_of_the_service_as_policies_have_it(service: str) -> None:
    prefix = "events" if service == "events" else "sagemaker"
    (need,) = needs_of(service, "Do", {"Tags": [{"Key": "k", "Value": "v"}]}, PLACE, {})
    assert need == AccessNeed((f"{prefix}:Do",), None, {"aws:requesttag/k": ("v",), "aws:tagkeys": ["k"]})
    keyed = {"Do": OperationRight(anything, members(Own="a"))}
    (own,) = needs_of(service, "Do", {"a": True}, PLACE, keyed)
    assert (own.resource, own.keys) == ("*", {f"{prefix}:own": ["true"]})


def test_tags_roles_and_each_resource_are_needs_of_their_own() -> None:
    right = OperationRight(both(arn_in("A"), arn_in("B")), tagged=True, passes=("Role", "In.Role"))
    params = {"A": "arn:a", "B": "arn:b", "Tags": [{"Key": "k", "Value": "v"}], "In": {"Role": "arn:role"}}
    of_tags = {"aws:requesttag/k": ("v",), "aws:tagkeys": ["k"]}
    passed = {"iam:passedtoservice": ("sagemaker.amazonaws.com",)}
    assert list(needs_of("sagemaker", "Do", params, PLACE, {"Do": right})) == [
        AccessNeed(("sagemaker:Do",), "arn:a", of_tags),
        AccessNeed(("sagemaker:Do",), "arn:b", of_tags),
        AccessNeed(("sagemaker:AddTags",), "arn:a", {**of_tags, "sagemaker:taggingaction": ("Do",)}),
        AccessNeed(("sagemaker:AddTags",), "arn:b", {**of_tags, "sagemaker:taggingaction": ("Do",)}),
        AccessNeed(("iam:PassRole",), "arn:role", passed),
    ]
    bare = list(needs_of("sagemaker", "Do", {"A": "arn:a"}, PLACE, {"Do": right}))
    assert bare == [AccessNeed(("sagemaker:Do",), "arn:a", {}), AccessNeed(("sagemaker:Do",), None, {})]
    untagged = OperationRight(anything)
    assert len(list(needs_of("sagemaker", "Do", params, PLACE, {"Do": untagged}))) == 1
    always = OperationRight(anything, passes=("Role",), always_passes=True)
    assert [need.resource for need in needs_of("sagemaker", "Do", {}, PLACE, {"Do": always})] == [
        "*",
        default_role("1"),
    ]
    assert default_role("1") == f"{IAM}:role/TorporRole"


def test_either_spelling_of_a_log_group_has_the_other_and_nothing_else_has_one() -> None:
    arn = "arn:aws:logs:eu-west-1:1:log-group:lg"
    assert (aliases_of(arn), aliases_of(f"{arn}:*")) == ((f"{arn}:*",), (arn,))
    assert (aliases_of(None), aliases_of("arn:aws:iam::1:role/r"), aliases_of(f"{arn}:log-stream:s")) == ((), (), ())


def test_a_target_that_names_no_model_is_asked_about_as_it_is() -> None:
    assert (target_name("/m.tar.gz"), target_name("../m")) == ("m.tar.gz", "../m")


@pytest.mark.parametrize(
    ("params", "keys"),
    [
        ({}, {}),
        ({"Tags": []}, {}),
        ({"TagKeys": ["a"]}, {"aws:tagkeys": ["a"]}),
        ({"tagKeys": ["a"]}, {"aws:tagkeys": ["a"]}),
        ({"tags": ["a", "b"]}, {"aws:tagkeys": ["a", "b"]}),
        ({"tags": {"A": "x"}, "TagKeys": ["b"]}, {"aws:requesttag/a": ("x",), "aws:tagkeys": ["A", "b"]}),
        ({"Tags": [{"Key": "A"}]}, {"aws:requesttag/a": ("",), "aws:tagkeys": ["A"]}),
        ({"Tags": [{"Value": 1}]}, {"aws:requesttag/": ("1",), "aws:tagkeys": [""]}),
        ({"Tags": [{"Key": "A", "Value": "x"}, 7]}, {"aws:requesttag/a": ("x",), "aws:tagkeys": ["A"]}),
    ],
)
def test_tags_in_any_spelling_are_keys(params: dict[str, Any], keys: Mapping[str, Any]) -> None:
    assert tag_keys(params) == keys


def test_a_list_names_each_and_none_means_any() -> None:
    named = listed("cloudwatch", "alarm", "Names")
    arn = "arn:aws:cloudwatch:eu-west-1:1:alarm"
    assert named({"Names": ["a", "b"]}, PLACE) == [f"{arn}:a", f"{arn}:b"]
    assert named({"Names": "a"}, PLACE) == [f"{arn}:a"]
    unsaid: list[dict[str, Any]] = [{}, {"Names": []}, {"Names": None}]
    assert [named(params, PLACE) for params in unsaid] == [[None]] * 3
    assert (anything({}, PLACE), unnamed({}, PLACE)) == (("*",), [None])


def test_a_key_has_the_values_of_its_member_wherever_that_stands() -> None:
    keys = members(own="A.B", others="C", none="D")
    assert keys({"A": {"B": 1}, "C": [1, False]}, PLACE) == {"own": [1], "others": [1, False]}
    assert same("C")({"C": 0}, PLACE) == {"C": [0]}
    held: list[Any] = [{"A": {"B": 2}}, {"A": "B"}, {"A": None}, {}, None]
    assert [member_at(one, "A.B") for one in held] == [2, None, None, None, None]
