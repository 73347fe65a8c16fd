"""A denial keeps what it was made of: policies with what they say, and the keys that they asked for."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from torpor_account.core.access.evaluation import PolicySource, decide, decide_trust, denial_text
from torpor_account.core.access.explaining.denial import (
    HIDDEN_VALUE,
    LISTED_MAX,
    TEXT_MAX,
    ContextKey,
    Denial,
    denial,
)
from torpor_account.core.access.explaining.statements import keys_in, position_of
from torpor_account.core.access.policy_statements import AccessPolicy, AccessQuestion, read_policy
from torpor_account.core.access.principals import Principal, PrincipalKind
from torpor_container.typed_json import read, written

ACCOUNT = "123456789012"
ANN = f"arn:aws:iam::{ACCOUNT}:user/ann"
INVOKE = "sagemaker:InvokeEndpoint"
HOUSES = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:endpoint/houses"


def policy(name: str, *statements: Mapping[str, Any], kind: str = "identity") -> AccessPolicy:
    return read_policy(json.dumps({"Version": "2012-10-17", "Statement": list(statements)}), name, kind=kind)


def statement(effect: str = "Allow", action: str = INVOKE, resource: str = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource, **more}


def denied(
    *policies: AccessPolicy,
    resource_policy: AccessPolicy | None = None,
    action: str = INVOKE,
    context: Mapping[str, Sequence[str]] | None = None,
) -> Denial:
    ann = Principal(PrincipalKind.USER, ACCOUNT, ANN, identity=policies, name="ann")
    question = AccessQuestion(action, HOUSES, (context or {}).get)
    decision = decide(ann, question, resource_policy)
    assert not decision.allowed
    return denial(ann, question, decision, denial_text(ann, question, decision), resource_policy)


def says(found: Denial) -> dict[str, str]:
    return {one.policy: one.says for one in found.policies}


def test_each_policy_says_why_it_did_not_allow_it() -> None:
    like = {"StringLike": {"sagemaker:TargetModel": "a/*"}}
    found = denied(
        policy("other action", statement(action="s3:*")),
        policy("other resource", statement(resource=f"{HOUSES}-2", Sid="Two")),
        policy("other model", statement(Condition=like)),
        context={"sagemaker:targetmodel": ("b/x",)},
    )
    assert found.why == "no identity-based policy allows it"
    assert says(found) == {
        "other action": f"no statement names {INVOKE}",
        "other resource": 'statement "Two" allows it for other resources',
        "other model": "statement 1 allows it if StringLike sagemaker:TargetModel a/*",
    }
    assert found.keys == (ContextKey("sagemaker:targetmodel", ("b/x",)),)


def test_a_deny_is_named_with_its_policy_and_statement() -> None:
    found = denied(policy("may", statement()), policy("stops", statement(), statement("Deny", Sid="Stop")))
    assert found.why == 'statement "Stop" of stops (identity-based policy) denies it'
    assert says(found)["stops"] == 'statement 1 allows it; statement "Stop" denies it'


def test_a_resources_policy_says_whom_it_speaks_to_and_an_absent_key_is_shown() -> None:
    bob = {"AWS": f"arn:aws:iam::{ACCOUNT}:user/bob"}
    when = {"Bool": {"aws:SecureTransport": "false"}, "StringEquals": {"aws:Referer": "hidden"}}
    found = denied(
        policy("own", statement(Condition=when)),
        resource_policy=policy("the bucket", statement(Principal=bob), kind="resource"),
        context={"aws:securetransport": ("false",), "aws:referer": ("a secret",)},
    )
    assert says(found)["the bucket"] == "statement 1 allows it to others"
    assert found.keys == (ContextKey("aws:referer", (HIDDEN_VALUE,)), ContextKey("aws:securetransport", ("false",)))
    assert "a secret" not in json.dumps(written(found))
    assert denied(policy("own", statement(Condition=when))).keys[0] == ContextKey("aws:securetransport", ())


def test_a_trust_policy_is_one_of_those_looked_at() -> None:
    ann = Principal(PrincipalKind.USER, ACCOUNT, ANN)
    trust = read_policy(
        '{"Statement": {"Effect": "Allow", "Principal": {"Service": "x"}, "Action": "sts:AssumeRole"}}',
        "trust",
        kind="trust",
    )
    question = AccessQuestion("sts:AssumeRole", "arn", lambda key: None)
    decision = decide_trust(ann, question, trust)
    (looked_at,) = denial(ann, question, decision, "text", trust, PolicySource.TRUST).policies
    assert (looked_at.kind, looked_at.says) == ("role trust policy", "statement 1 allows it to others")


def test_the_keys_of_all_statements_are_kept_though_few_are_spoken_of() -> None:
    each = [statement(Condition={"StringEquals": {f"k{number}": "x"}}) for number in range(6)]
    found = denied(policy("own", *each))
    assert [one.key for one in found.keys] == [f"k{number}" for number in range(6)]
    assert says(found)["own"].endswith("; and 3 more")
    assert (found.request_id, found.at_s) == ("", 0.0), "whoever knows the request fills them in"


def test_what_callers_choose_is_cut_and_what_is_written_is_read_again() -> None:
    found = denied(*[policy(f"p{number}", statement(action="s3:*")) for number in range(LISTED_MAX + 1)])
    assert len(found.policies) == LISTED_MAX
    assert len(denied(action=f"s3:{'x' * 2 * TEXT_MAX}").action) == TEXT_MAX
    assert read(Denial, {**json.loads(json.dumps(written(found))), "of a newer version": 1}) == found


def test_the_keys_of_a_policy_are_those_of_its_conditions_and_variables() -> None:
    own = statement(
        resource="arn:aws:s3:::b/${aws:username}/${*}",
        Condition={"StringLike": {"sagemaker:TargetModel": "${aws:PrincipalTag/Tenant, 'none'}/*"}},
    )
    found = keys_in(policy("p", own, statement(action="s3:*", Condition={"Null": {"aws:x": "true"}})))
    assert found == ["sagemaker:TargetModel", "aws:username", "aws:PrincipalTag/Tenant", "aws:x"]
    assert "aws:x" not in keys_in(policy("p", own), INVOKE)
    elsewhere = statement(action="s3:*", Condition={"Null": {"aws:y": "true"}})
    assert keys_in(policy("p", elsewhere, own), INVOKE) == found[:3]


def test_a_statement_is_found_in_its_document_whatever_its_texts_hold() -> None:
    one = '{"Effect": "Allow", "Action": "*", "Resource": "a]},{\\"Statement"}'
    alone = f'{{"Statement":{one}, "Version": "2012-10-17"}}'
    assert position_of(alone, 1) == ((1, 14), (1, 13 + len(one)))
    listed = f'{{ "Id" : {{"Statement": []}} ,\n "Statement" : [ {one}\n,\n{one} ] }}'
    assert position_of(listed, 2) == ((4, 1), (4, len(one)))
