"""Simulations give the evaluator's answer, name the statements that decided, and refuse what they would ignore."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.in_memory_iam import ACCOUNT, NOW_S, database, permissions
from torpor_account.aws.in_process import client
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.iam.service import service as iam_service
from torpor_account.storage.tag_store import Tags

ANN = f"arn:aws:iam::{ACCOUNT}:user/ann"
GROUP = f"arn:aws:iam::{ACCOUNT}:group/readers"
OBJECT = "arn:aws:s3:::b/k"
GET = {"ActionNames": ["s3:GetObject"], "ResourceArns": [OBJECT]}


@pytest.fixture
def iam() -> Iterator[Any]:
    """IAM of an endpoint that verifies its callers: ann may read by her group, and may not delete by herself."""
    with database() as found:
        context = Iam(found, Tags(found), lambda: NOW_S)
        directory = Directory(context, ACCOUNT, KeyPair("AKIAROOT", "root"))
        made = client(iam_service(context, account=ACCOUNT, directory=directory))
        made.create_user(UserName="ann")
        made.create_group(GroupName="readers")
        made.add_user_to_group(GroupName="readers", UserName="ann")
        made.put_group_policy(GroupName="readers", PolicyName="read", PolicyDocument=permissions())
        denying = permissions(Effect="Deny", Action="s3:DeleteObject")
        made.put_user_policy(UserName="ann", PolicyName="keep", PolicyDocument=denying)
        yield made


def results(answer: Any) -> list[tuple[str, str, list[str]]]:
    return [
        (
            one["EvalActionName"],
            one["EvalDecision"],
            [f"{each['SourcePolicyType']} {each['SourcePolicyId']}" for each in one["MatchedStatements"]],
        )
        for one in answer["EvaluationResults"]
    ]


def test_a_users_own_policies_and_those_of_its_groups_decide(iam: Any) -> None:
    actions = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    found = iam.simulate_principal_policy(PolicySourceArn=ANN, ActionNames=actions, ResourceArns=[OBJECT])
    assert results(found) == [
        ("s3:GetObject", "allowed", ["group read"]),
        ("s3:PutObject", "implicitDeny", []),
        ("s3:DeleteObject", "explicitDeny", ["user keep"]),
    ]
    iam.remove_user_from_group(GroupName="readers", UserName="ann")
    assert results(iam.simulate_principal_policy(PolicySourceArn=ANN, **GET))[0][1] == "implicitDeny"
    assert results(iam.simulate_principal_policy(PolicySourceArn=GROUP, **GET))[0][1] == "allowed"


def test_the_results_of_resources_are_paged_in_their_order(iam: Any) -> None:
    arns = [f"arn:aws:s3:::b/{name}" for name in "cba"]
    paginator = iam.get_paginator("simulate_principal_policy")
    pages = paginator.paginate(
        PolicySourceArn=ANN, ActionNames=["s3:GetObject"], ResourceArns=arns, PaginationConfig={"PageSize": 2}
    )
    found = [[one["EvalResourceName"] for one in page["EvaluationResults"]] for page in pages]
    assert found == [arns[:2], arns[2:]]


def test_a_statement_is_named_with_its_place_in_the_document(iam: Any) -> None:
    document = '{\n  "Version": "2012-10-17", "Statement": [\n' + "".join(
        f"    {json.dumps({'Effect': 'Allow', 'Action': action, 'Resource': '*'})}{end}\n"
        for action, end in (("s3:*", ","), ("s3:GetObject", ""))
    )
    found = iam.simulate_custom_policy(PolicyInputList=[permissions(Action="sqs:*"), f"{document}]}}"], **GET)
    first, second = found["EvaluationResults"][0]["ResourceSpecificResults"][0]["MatchedStatements"]
    assert first["SourcePolicyId"] == second["SourcePolicyId"] == "PolicyInputList.2"
    assert (first["StartPosition"], second["StartPosition"]) == ({"Line": 3, "Column": 5}, {"Line": 4, "Column": 5})
    line = document.split("\n")[3]
    assert second["EndPosition"] == {"Line": 4, "Column": len(line)}


def test_condition_keys_are_taken_from_the_call_and_missing_ones_are_named(iam: Any) -> None:
    tenant = {"StringEquals": {"aws:PrincipalTag/Tenant": "a"}, "DateLessThan": {"aws:CurrentTime": "2001-01-01"}}
    variable = permissions(Resource="arn:aws:s3:::b/${aws:username}/*", Condition=tenant)
    call = {"PolicyInputList": [variable], "ActionNames": ["s3:GetObject"]}
    (unknown,) = iam.simulate_custom_policy(**call)["EvaluationResults"]
    assert (unknown["EvalDecision"], unknown["MissingContextValues"]) == (
        "implicitDeny",
        ["aws:PrincipalTag/Tenant", "aws:username"],
    )
    entries = [
        {"ContextKeyName": name, "ContextKeyValues": [value], "ContextKeyType": kind}
        for name, value, kind in (
            ("aws:principaltag/tenant", "a", "string"),
            ("aws:username", "ann", "string"),
            ("aws:CurrentTime", "2000-01-01", "date"),
        )
    ]
    found = iam.simulate_custom_policy(**call, ContextEntries=entries, ResourceArns=["arn:aws:s3:::b/ann/k"])
    assert found["EvaluationResults"][0]["EvalDecision"] == "allowed"
    assert found["EvaluationResults"][0]["ResourceSpecificResults"][0]["MissingContextValues"] == []
    names = iam.get_context_keys_for_custom_policy(PolicyInputList=[variable])["ContextKeyNames"]
    assert names == ["aws:CurrentTime", "aws:PrincipalTag/Tenant", "aws:username"]


def test_a_boundary_limits_and_the_answer_says_so(iam: Any) -> None:
    for action, allowed in (("s3:*", True), ("sqs:*", False)):
        found = iam.simulate_principal_policy(
            PolicySourceArn=ANN, PermissionsBoundaryPolicyInputList=[permissions(Action=action)], **GET
        )["EvaluationResults"][0]
        assert found["EvalDecision"] == ("allowed" if allowed else "implicitDeny")
        assert found["PermissionsBoundaryDecisionDetail"] == {"AllowedByPermissionsBoundary": allowed}


def test_the_policy_of_a_resource_speaks_to_the_caller(iam: Any) -> None:
    speaking = permissions(Action="s3:PutObject", Principal={"AWS": ANN})
    put = {"ActionNames": ["s3:PutObject"], "ResourceArns": [OBJECT], "ResourcePolicy": speaking}
    assert results(iam.simulate_principal_policy(PolicySourceArn=ANN, **put)) == [
        ("s3:PutObject", "allowed", ["resource ResourcePolicy"])
    ]
    assert results(iam.simulate_principal_policy(PolicySourceArn=GROUP, CallerArn=ANN, **put))[0][1] == "allowed"
    assert results(iam.simulate_custom_policy(PolicyInputList=[permissions()], CallerArn=ANN, **put))[0][1] == "allowed"
    iam.create_user(UserName="bob")
    assert results(iam.simulate_principal_policy(PolicySourceArn=ANN[:-3] + "bob", **put))[0][1] == "implicitDeny"


ENTRY = {"ContextKeyName": "aws:x", "ContextKeyValues": ["1", "2"], "ContextKeyType": "string"}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"ActionNames": ["s3:*"]}, "without wildcards"),
        ({"ResourceHandlingOption": "EC2-VPC"}, "do not know ResourceHandlingOption"),
        ({"ResourceOwner": "999999999999"}, "another account"),
        ({"ResourcePolicy": permissions(Principal="*")}, "CallerArn must name a user"),
        ({"PermissionsBoundaryPolicyInputList": [permissions()] * 2}, "may have one policy"),
        ({"ContextEntries": [ENTRY]}, "its type must be a list's"),
        ({"ContextEntries": [{"ContextKeyName": "aws:x"}]}, "lacks ContextKeyValues"),
    ],
)
def test_what_a_simulation_would_ignore_is_refused(iam: Any, more: dict[str, Any], why: str) -> None:
    calls: tuple[Callable[[], Any], ...] = (
        lambda: iam.simulate_custom_policy(**{"PolicyInputList": [permissions()], **GET, **more}),
        lambda: iam.simulate_principal_policy(**{"PolicySourceArn": GROUP, **GET, **more}),
    )
    for call in calls:
        with pytest.raises(ClientError, match=f"InvalidInput.*{why}"):
            call()


INVOKE = {"ActionNames": ["sagemaker:InvokeEndpoint"], "ResourceArns": ["arn:aws:sagemaker:us-east-1:1:endpoint/e"]}


def simulated(iam: Any, condition: Any, effect: str = "Deny", **entries: str) -> str:
    """The decision about an invocation, by one statement with this condition and, for a Deny, an Allow."""
    every = {"Action": "*", "Resource": "*"}
    statements = [{"Effect": effect, "Condition": condition, **every}, {"Effect": "Allow", **every}]
    document = json.dumps({"Version": "2012-10-17", "Statement": statements[: 2 if effect == "Deny" else 1]})
    context = [
        {"ContextKeyName": f"sagemaker:{name}", "ContextKeyValues": [value], "ContextKeyType": "string"}
        for name, value in entries.items()
    ]
    found = iam.simulate_custom_policy(PolicyInputList=[document], ContextEntries=context, **INVOKE)
    return str(found["EvaluationResults"][0]["EvalDecision"])


@pytest.mark.parametrize("spelling", ["tenant-b/m", "/tenant-b/m"])
def test_a_simulated_target_model_has_the_name_of_a_real_one(iam: Any, spelling: str) -> None:
    for pattern in ("tenant-b/*", "/tenant-b/*"):
        of_b = {"StringLike": {"sagemaker:TargetModel": pattern}}
        assert simulated(iam, of_b, TargetModel=spelling) == "explicitDeny"
        assert simulated(iam, of_b, "Allow", TargetModel=spelling) == "allowed"
        assert simulated(iam, of_b, TargetModel="/tenant-a/m") == "allowed"


def test_a_simulated_container_is_denied_as_a_real_one_is(iam: Any) -> None:
    special = {"StringLike": {"sagemaker:TargetContainerHostname": "special*"}}
    assert simulated(iam, special, TargetContainerHostname="special-b") == "explicitDeny"
    assert simulated(iam, special, TargetContainerHostname="common-a") == "allowed"


def test_a_policy_that_the_endpoint_would_refuse_is_not_simulated_unless_its_key_is_given(iam: Any) -> None:
    unread = {"StringEquals": {"sagemaker:TargetVariant": "A"}}
    with pytest.raises(ClientError, match=r"cannot be enforced: .* no request has the condition key sagemaker:TargetV"):
        simulated(iam, unread)
    assert simulated(iam, unread, TargetVariant="A") == "explicitDeny"
