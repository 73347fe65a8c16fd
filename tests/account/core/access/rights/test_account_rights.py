"""What each operation needs, by AWS's service authorization reference; and that no operation is without a right."""

import json
from typing import Any

import pytest

from tests.account.helpers.every_right import EVERY_RIGHT, needs_of
from torpor_account.core.access.evaluation import PolicySource
from torpor_account.core.access.needs import AccessNeed, AccessPlace, AccessRefused, CallerAccess
from torpor_account.core.access.policy_statements import read_policy
from torpor_account.core.access.principals import Principal, PrincipalKind
from torpor_endpoint.core.rights import invocation
from torpor_endpoint.services.service_register import SERVICES

PLACE = AccessPlace("123456789012", "eu-west-1")
ARN = "arn:aws:sagemaker:eu-west-1:123456789012"
WITHOUT_A_ROW = {
    "application-autoscaling": "its ARNs have ids of their own",
    "logs": "reads across groups",
    "sts": "decided by the operation itself",
    "cloudwatch": "tags",
    "iam": "service-linked roles",
}
"""Services of which some operations have no row, so that they need a right for all resources, and why."""


def pairs(service: str, operation: str, params: dict[str, Any] | None) -> list[tuple[str, str | None]]:
    return [(need.actions[0], need.resource) for need in needs_of(service, operation, params, PLACE)]


def test_every_operation_of_sagemaker_has_a_row() -> None:
    claimed = {service.name: service.tables().operations for service in SERVICES}
    assert set(claimed["sagemaker"]) == set(EVERY_RIGHT["sagemaker"])
    others = {name: set(rows) - set(EVERY_RIGHT.get(name, {})) for name, rows in claimed.items()}
    without = {name for name, rows in others.items() if rows} - {"s3", "sagemaker-runtime"}
    assert without == WITHOUT_A_ROW.keys()


def test_names_in_arns_are_in_lower_case() -> None:
    assert pairs("sagemaker", "DescribeEndpoint", {"EndpointName": "Houses"}) == [
        ("sagemaker:DescribeEndpoint", f"{ARN}:endpoint/houses")
    ]


@pytest.mark.parametrize("operation", ["AddTags", "ListTags", "DeleteTags"])
def test_tags_are_of_the_resource_that_the_operation_finds(operation: str) -> None:
    assert pairs("sagemaker", operation, {"ResourceArn": f"{ARN}:Endpoint/HOUSES"}) == [
        (f"sagemaker:{operation}", f"{ARN}:endpoint/houses")
    ]


def test_a_tag_in_two_spellings_has_both_values() -> None:
    tags = [{"Key": "tenant", "Value": "b"}, {"Key": "Tenant", "Value": "a"}]
    (model, *_) = needs_of("sagemaker", "CreateModel", {"ModelName": "m", "Tags": tags}, PLACE)
    assert model.keys["aws:requesttag/tenant"] == ("b", "a")


def test_an_endpoint_needs_its_config_too_and_tags_a_right_of_their_own() -> None:
    params = {"EndpointName": "e", "EndpointConfigName": "c", "Tags": [{"Key": "Team", "Value": "a"}]}
    needs = list(needs_of("sagemaker", "CreateEndpoint", params, PLACE))
    endpoint, config = f"{ARN}:endpoint/e", f"{ARN}:endpoint-config/c"
    assert [(need.actions[0], need.resource) for need in needs] == [
        *[("sagemaker:CreateEndpoint", endpoint), ("sagemaker:CreateEndpoint", config)],
        *[("sagemaker:AddTags", endpoint), ("sagemaker:AddTags", config)],
    ]
    assert needs[0].keys == {"aws:requesttag/team": ("a",), "aws:tagkeys": ["Team"]}


def test_a_role_that_is_handed_on_needs_pass_role() -> None:
    params = {"ModelName": "m", "ExecutionRoleArn": "arn:aws:iam::1:role/r", "EnableNetworkIsolation": True}
    model, role = needs_of("sagemaker", "CreateModel", params, PLACE)
    assert model.keys == {"sagemaker:networkisolation": ["true"]}
    assert role == AccessNeed(
        ("iam:PassRole",), "arn:aws:iam::1:role/r", {"iam:passedtoservice": ("sagemaker.amazonaws.com",)}
    )


def test_a_model_without_a_role_is_handed_the_endpoint_s_own() -> None:
    _, role = needs_of("sagemaker", "CreateModel", {"ModelName": "m"}, PLACE)
    assert (role.actions, role.resource) == (("iam:PassRole",), f"arn:aws:iam::{PLACE.account}:role/TorporRole")


def test_a_config_has_the_keys_of_its_variants() -> None:
    variants = [
        {"ModelName": "M", "InstanceType": "ml.m5.large"},
        {"ModelName": "n", "ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 2}},
    ]
    params = {"EndpointConfigName": "c", "ProductionVariants": variants, "KmsKeyId": "k"}
    (need,) = needs_of("sagemaker", "CreateEndpointConfig", params, PLACE)
    assert need.keys == {
        "sagemaker:modelarn": [f"{ARN}:model/m", f"{ARN}:model/n"],
        "sagemaker:instancetypes": ["ml.m5.large"],
        "sagemaker:serverlessmaxconcurrency": ["2"],
        "sagemaker:serverlessmemorysize": ["1024"],
        "sagemaker:volumekmskey": ["k"],
    }


def test_an_operation_that_is_not_known_may_act_on_anything() -> None:
    assert pairs("sns", "CreateTopic", None) == [("sns:CreateTopic", None)]
    assert pairs("sagemaker", "CreateModel", None) == [("sagemaker:CreateModel", None)]
    assert pairs("logs", "DescribeLogStreams", {}) == [("logs:DescribeLogStreams", None)]
    assert pairs("cloudwatch", "DescribeAlarms", {}) == [("cloudwatch:DescribeAlarms", None)]


def test_what_is_free_needs_nothing() -> None:
    for action in (f"sts:{name}" for name, row in EVERY_RIGHT["sts"].items() if row.free):
        service, _, operation = action.partition(":")
        assert pairs(service, operation, {}) == []


def test_iam_needs_the_path_of_what_exists_and_the_callers_name_where_none_is_given() -> None:
    place = AccessPlace("1", "us-east-1", "ann", lambda kind, name: "/team/")
    (need,) = needs_of("iam", "GetRole", {"RoleName": "r"}, place)
    assert need.resource == "arn:aws:iam::1:role/team/r"
    (need,) = needs_of("iam", "CreateAccessKey", {}, place)
    assert need.resource == "arn:aws:iam::1:user/team/ann"


@pytest.mark.parametrize("operation", ["PutUserPolicy", "AttachUserPolicy", "DeleteUserPermissionsBoundary"])
def test_what_changes_a_user_has_the_boundary_of_that_user(operation: str) -> None:
    place = AccessPlace("1", "us-east-1", boundary_of=_boundary_of_bob)
    (need,) = needs_of("iam", operation, {"UserName": "bob"}, place)
    assert need.keys["iam:permissionsboundary"] == ["arn:b"]
    (need,) = needs_of("iam", operation, {"UserName": "ann"}, place)
    assert "iam:permissionsboundary" not in need.keys


def test_a_new_boundary_is_that_of_the_call() -> None:
    place = AccessPlace("1", "us-east-1", boundary_of=_boundary_of_bob)
    for operation in ("CreateUser", "PutUserPermissionsBoundary"):
        (need,) = needs_of("iam", operation, {"UserName": "bob", "PermissionsBoundary": "arn:new"}, place)
        assert need.keys["iam:permissionsboundary"] == ["arn:new"]
    (need,) = needs_of("iam", "CreateUser", {"UserName": "ann"}, place)
    assert "iam:permissionsboundary" not in need.keys


def _boundary_of_bob(kind: str, name: str) -> str | None:
    return "arn:b" if (kind, name) == ("user", "bob") else None


def test_tags_of_logs_are_keys_too() -> None:
    (made,) = needs_of("logs", "TagLogGroup", {"logGroupName": "g", "tags": {"Team": "a"}}, PLACE)
    assert made.keys == {"aws:requesttag/team": ("a",), "aws:tagkeys": ["Team"]}
    (removed,) = needs_of("logs", "UntagLogGroup", {"logGroupName": "g", "tags": ["Team"]}, PLACE)
    assert removed.keys == {"aws:tagkeys": ["Team"]}
    (rowless,) = needs_of("logs", "TagResource", {"resourceArn": "g", "tags": {"Team": "a"}}, PLACE)
    assert (rowless.resource, rowless.keys) == (None, made.keys)


def access(*statements: str, **more: Any) -> CallerAccess:
    policy = read_policy(f'{{"Version": "2012-10-17", "Statement": [{", ".join(statements)}]}}', "p")
    return CallerAccess(Principal(PrincipalKind.USER, "1", "arn:u", identity=(policy,)), PLACE, **more)


STREAM = '{"Effect": "%s", "Action": "%s", "Resource": "*"}'


@pytest.mark.parametrize("action", ["sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream"])
def test_either_of_two_documented_actions_allows_a_stream_and_either_denies_it(action: str) -> None:
    need = invocation("InvokeEndpointWithResponseStream", "Houses", "a/m.tar.gz", PLACE)
    assert need.resource == f"{ARN}:endpoint/houses"
    access(STREAM % ("Allow", action)).check([need])
    with pytest.raises(AccessRefused, match="explicit deny"):
        access(STREAM % ("Allow", "sagemaker:*"), STREAM % ("Deny", action)).check([need])


def test_a_refusal_says_which_statement_decided() -> None:
    need = invocation("InvokeEndpoint", "houses", None, PLACE)
    with pytest.raises(AccessRefused) as refused:
        access(STREAM % ("Allow", "s3:*")).check([need])
    assert refused.value.message.startswith("User: arn:u is not authorized to perform: sagemaker:InvokeEndpoint on ")
    assert refused.value.why == "no identity-based policy allows it"
    assert access(STREAM % ("Allow", "*")).decide(need).source is PolicySource.IDENTITY


@pytest.mark.parametrize(
    ("operator", "target", "allowed"),
    [
        ("StringLike", "a/m.tar.gz", True),
        ("StringLike", "b/m.tar.gz", False),
        ("StringLike", "", False),
        ("StringLike", None, False),
        ("StringLikeIfExists", "b/m.tar.gz", False),
        ("StringLikeIfExists", None, True),
        ("StringNotLike", "a/m.tar.gz", False),
        ("StringNotLike", None, True),
    ],
)
def test_an_asynchronous_call_has_a_target_model_exactly_if_it_names_one(
    operator: str, target: str | None, allowed: bool
) -> None:
    condition = f'"Condition": {{"{operator}": {{"sagemaker:TargetModel": "a/*"}}}}'
    asked = access(f'{{"Effect": "Allow", "Action": "sagemaker:InvokeEndpoint*", "Resource": "*", {condition}}}')
    assert asked.decide(invocation("InvokeEndpointAsync", "lazy", target, PLACE)).allowed is allowed


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("aws:ResourceTag/Team", "a", True),
        ("sagemaker:ResourceTag/team", "a", True),
        ("aws:ResourceTag/Team", "b", False),
        ("aws:ResourceTag/Other", "a", False),
        ("aws:CurrentTime", "1970-01-01T00:01:40+00:00", True),
        ("aws:EpochTime", "100", True),
        ("aws:SourceIp", "127.0.0.1", True),
        ("sagemaker:TargetModel", "a/m.tar.gz", True),
    ],
)
def test_the_circumstances_of_a_request_can_be_tested(key: str, value: str, allowed: bool) -> None:
    condition = f'"Condition": {{"StringEquals": {{"{key}": "{value}"}}}}'
    statement = f'{{"Effect": "Allow", "Action": "*", "Resource": "*", {condition}}}'
    request = {"aws:sourceip": ("127.0.0.1",)}
    asked = access(statement, of_request=request.get, now_s=100.0, tags_of=lambda arn: {"Team": "a"})
    assert asked.decide(invocation("InvokeEndpoint", "houses", "a/m.tar.gz", PLACE)).allowed is allowed


LOGS = f"arn:aws:logs:eu-west-1:{PLACE.account}:log-group:/aws/sagemaker/Endpoints/e"


def may_call(operation: str, params: dict[str, Any], *statements: dict[str, Any]) -> bool:
    """Whether a user with these statements may do what an operation of Logs needs."""
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    ann = Principal(PrincipalKind.USER, PLACE.account, "ann", identity=(read_policy(document, "p"),))
    access = CallerAccess(ann, PLACE)
    return all(access.decide(need).allowed for need in needs_of("logs", operation, params, PLACE))


@pytest.mark.parametrize("operation", ["DescribeLogStreams", "FilterLogEvents", "PutRetentionPolicy"])
@pytest.mark.parametrize("named", [LOGS, f"{LOGS}:*"])
@pytest.mark.parametrize(
    "params",
    [{"logGroupName": "/aws/sagemaker/Endpoints/e"}, {"logGroupIdentifier": LOGS}, {"logGroupName": f"{LOGS}:*"}],
)
def test_a_log_group_has_two_arns_and_either_allows_or_denies(
    operation: str, named: str, params: dict[str, Any]
) -> None:
    allow = {"Effect": "Allow", "Action": "logs:*", "Resource": named}
    deny = {"Effect": "Deny", "Action": "logs:*", "Resource": named}
    assert may_call(operation, params, allow)
    assert not may_call(operation, params, {**allow, "Resource": "*"}, deny)
    assert not may_call(operation, params, {**allow, "Resource": f"{LOGS}2:*"})


def test_a_log_stream_is_below_its_group() -> None:
    params = {"logGroupName": "/aws/sagemaker/Endpoints/e", "logStreamName": "all/i-1"}
    assert pairs("logs", "GetLogEvents", params) == [("logs:GetLogEvents", f"{LOGS}:log-stream:all/i-1")]
    assert may_call("GetLogEvents", params, {"Effect": "Allow", "Action": "logs:*", "Resource": f"{LOGS}:*"})


IF_TEAM_B = {
    "StringEquals": "b",
    "StringNotEquals": "a",
    "StringLike": "b*",
    "StringEqualsIfExists": "b",
    "ForAnyValue:StringEquals": "b",
    "ForAllValues:StringNotEquals": "a",
    "Null": "true",
}


@pytest.mark.parametrize(("operator", "value"), IF_TEAM_B.items())
@pytest.mark.parametrize("key", ["aws:ResourceTag/Team", "secretsmanager:Name"])
def test_a_tag_that_nobody_knows_denies_and_does_not_allow(operator: str, value: str, key: str) -> None:
    """Of a resource that the call does not name, and of one whose tags another keeps. Other keys are just absent."""
    condition = f'"Condition": {{"{operator}": {{"{key}": "{value}"}}}}'
    deny = f'{{"Effect": "Deny", "Action": "*", "Resource": "*", {condition}}}'
    document = f'{{"Version": "2012-10-17", "Statement": [{deny}]}}'
    absent_holds = read_policy(document, "p").statements[0].conditions[0].holds(lambda name: None)
    is_tag = "Tag" in key
    for resource in (None, LOGS):
        need = AccessNeed(("logs:GetLogEvents",), resource)
        denied = access(STREAM % ("Allow", "*"), deny, tags_of=lambda arn: None)
        assert denied.decide(need).allowed is (not is_tag and not absent_holds)
        allowed = access(deny.replace("Deny", "Allow"), tags_of=lambda arn: None)
        assert allowed.decide(need).allowed is (not is_tag and absent_holds)


def test_a_refusal_by_an_unknown_tag_says_that_it_is_not_known() -> None:
    condition = '"Condition": {"StringEquals": {"aws:ResourceTag/t": "b"}}'
    deny = f'{{"Effect": "Deny", "Action": "*", "Resource": "*", {condition}}}'
    asked = access(STREAM % ("Allow", "*"), deny)
    with pytest.raises(AccessRefused, match="explicit deny"):
        asked.check([AccessNeed(("kms:Decrypt",), None)])
    (denial,) = asked.denials
    assert [(key.key, key.values) for key in denial.keys] == [("aws:resourcetag/t", ("(not known here)",))]
    assert [one.says for one in denial.policies] == ["statement 1 allows it; statement 2 denies it"]


@pytest.mark.parametrize(
    "given",
    [
        {"Tags": [{"Key": "Team", "Value": "b"}]},
        {"Tags": [{"TagKey": "Team", "TagValue": "b"}]},
        {"tags": [{"key": "Team", "value": "b"}]},
        {"tags": {"Team": "b"}},
    ],
)
def test_the_tags_of_a_call_that_another_answers_are_keys(given: dict[str, Any]) -> None:
    (need,) = needs_of("kms", "CreateKey", given, PLACE)
    assert need == AccessNeed(("kms:CreateKey",), None, {"aws:requesttag/team": ("b",), "aws:tagkeys": ["Team"]})
