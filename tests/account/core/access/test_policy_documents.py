"""How a policy document is read: its statements, and what is said of one that cannot be read."""

import json
from typing import Any

import pytest

from torpor_account.core.access.conditions import BadPolicy
from torpor_account.core.access.policy_statements import (
    AccessQuestion,
    PolicyPrincipals,
    denying_all,
    read_policy,
)

ALLOW = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
ASKED = AccessQuestion("s3:GetObject", "arn:aws:s3:::b/k", lambda key: None)


def document(*statements: Any, **more: Any) -> str:
    return json.dumps({"Statement": list(statements), **more})


def test_the_statements_of_a_document_are_numbered_and_named() -> None:
    text = document(ALLOW, {**ALLOW, "Effect": "Deny", "Sid": "No"}, Version="2012-10-17")
    policy = read_policy(text, "p")
    assert (policy.name, policy.document, policy.variables) == ("p", text, True)
    first, second = policy.statements
    assert (first.number, first.label, first.denies) == (1, "statement 1", False)
    assert (second.number, second.label, second.denies) == (2, 'statement "No"', True)


@pytest.mark.parametrize(("version", "variables"), [("2012-10-17", True), ("2008-10-17", False), (None, False)])
def test_variables_are_replaced_in_documents_of_the_new_version(version: str | None, variables: bool) -> None:
    more = {} if version is None else {"Version": version}
    assert read_policy(json.dumps({"Statement": ALLOW, **more}), "p").variables is variables


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"Efect": "Allow"}, "statement 2 has the unknown element Efect"),
        ({"Effect": "allow"}, "statement 2: Effect must be Allow or Deny"),
        ({"Action": None}, "statement 2: Action must be a text, or a list of texts"),
        ({"Action": []}, "statement 2: Action must be a text, or a list of texts"),
        ({"Action": ["s3:*", 1]}, "statement 2: Action must be a text, or a list of texts"),
        ({"NotAction": "s3:*"}, "statement 2 has both Action and NotAction"),
        ({"NotResource": "*"}, "statement 2 has both Resource and NotResource"),
        (
            {"Action": ["s3:*", "s*:Get"]},
            "statement 2: s*:Get must be * or service:Operation, without a wildcard in the name of the service",
        ),
        (
            {"Resource": "b/k"},
            "statement 2: b/k must be * or an ARN of this partition, without a wildcard in the name of the service",
        ),
        ({"Principal": "*"}, "statement 2 must not have Principal"),
        ({"Condition": []}, "statement 2: Condition must be an object of objects"),
        ({"Condition": {"Bool": "k"}}, "statement 2: Condition must be an object of objects"),
        ({"Condition": {"Bool": {"k": None}}}, "statement 2: Condition.Bool.k must be a text, or a list of texts"),
        ({"Condition": {"Bool": {"k": "yes"}}}, "statement 2: 'yes' is neither true nor false"),
    ],
)
def test_a_statement_that_cannot_be_read_is_named_with_what_is_wrong(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        read_policy(document(ALLOW, {**ALLOW, **changed}), "p")
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("kind", "left_out", "added", "why"),
    [
        ("identity", "Action", {}, "statement 1 needs Action or NotAction"),
        ("identity", "Resource", {}, "statement 1 needs Resource or NotResource"),
        ("resource", "", {}, "statement 1 needs Principal"),
        ("trust", "", {"Principal": "*"}, "statement 1 must not have Resource"),
        ("trust", "Resource", {}, "statement 1 needs Principal"),
        (
            "trust",
            "Resource",
            {"Principal": "*", "NotPrincipal": "*"},
            "statement 1 has both Principal and NotPrincipal",
        ),
        ("trust", "Resource", {"Principal": {"AWS": []}}, "statement 1: Principal must be a text, or a list of texts"),
        (
            "trust",
            "Resource",
            {"Principal": "ann"},
            'statement 1: Principal must be "*" or an object such as {"AWS": …}',
        ),
        (
            "trust",
            "Resource",
            {"NotPrincipal": {}},
            'statement 1: NotPrincipal must be "*" or an object such as {"AWS": …}',
        ),
        ("trust", "Resource", {"Principal": {"User": "a"}}, "statement 1: User is none of the kinds of principals"),
    ],
)
def test_each_kind_of_policy_has_its_elements(kind: str, left_out: str, added: dict[str, Any], why: str) -> None:
    statement = {name: value for name, value in {**ALLOW, **added}.items() if name != left_out}
    with pytest.raises(BadPolicy) as refused:
        read_policy(document(statement), "p", kind=kind)
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "it is no JSON object"),
        ("{}", "Statement must be an object, or a list of objects"),
        (document(), "Statement must be an object, or a list of objects"),
        (document(ALLOW, "x"), "Statement must be an object, or a list of objects"),
        (document(ALLOW, Version="2012-10-18"), "Version must be one of 2008-10-17, 2012-10-17"),
    ],
)
def test_a_document_that_cannot_be_read_says_why(text: str, why: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        read_policy(text, "p")
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("*", "*"),
        ("*:*", "arn:aws:s3:::b"),
        ("s3:Get*", "arn:aws*:s3:::b/*"),
        ("s3:?etObject", "arn:*:s3:::*"),
        ("application-autoscaling:*", "arn:aws:s3:us-east-1:1:b\nk"),
    ],
)
def test_an_action_and_a_resource_may_have_wildcards_behind_the_service(action: str, resource: str) -> None:
    [one] = read_policy(document({**ALLOW, "Action": action, "Resource": resource}), "p").statements
    assert (one.actions.texts, one.resources and one.resources.texts) == ((action,), (resource,))


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("s3:", "*"),
        ("s3", "*"),
        ("*:GetObject", "*"),
        ("s3:Get Object", "*"),
        ("*", "arn:aws:s3"),
        ("*", "arn:aws:*:::b"),
        ("*", "arn:aws-cn:s3:::b"),
        ("*", ""),
    ],
)
def test_other_forms_are_refused(action: str, resource: str) -> None:
    with pytest.raises(BadPolicy, match="without a wildcard in the name of the service"):
        read_policy(document({**ALLOW, "Action": action, "Resource": resource}), "p")


def test_the_values_of_a_condition_may_be_numbers_and_there_may_be_none() -> None:
    condition = {"NumericEquals": {"k": [5, 1.5]}, "Bool": {"l": [True, "False"]}, "StringEquals": {"m": []}}
    [one] = read_policy(document({**ALLOW, "Condition": condition}), "p").statements
    assert [test.values for test in one.conditions] == [("5", "1.5"), ("true", "False"), ()]
    assert not one.holds(ASKED)


def test_only_a_statement_for_everything_allows_what_is_not_named() -> None:
    asked = ASKED._replace(resource=None)
    for changed, allows in (
        ({"Resource": ["arn:aws:s3:::b/*", "*"]}, True),
        ({"Resource": "arn:aws:s3:::*"}, False),
        ({"Resource": None, "NotResource": "*"}, False),
    ):
        statement = {name: value for name, value in {**ALLOW, **changed}.items() if value is not None}
        [one] = read_policy(document(statement), "p").statements
        assert one.holds(asked) is allows
        [one] = read_policy(document({**statement, "Effect": "Deny"}), "p").statements
        assert one.holds(asked), "it may be the one that is denied"


def test_principals_are_read_by_their_kind() -> None:
    named = {"AWS": ["1", "2"], "Service": "s3.amazonaws.com", "CanonicalUser": "c", "Federated": "f"}
    [one] = read_policy(document({**ALLOW, "Principal": named}), "p", kind="resource", ids={"1": "A"}).statements
    assert one.principals == PolicyPrincipals(
        {"AWS": ("1", "2"), "Service": ("s3.amazonaws.com",), "CanonicalUser": ("c",), "Federated": ("f",)},
        negated=False,
        ids={"1": "A"},
    )
    [one] = read_policy(document({**ALLOW, "NotPrincipal": "*"}), "p", kind="resource").statements
    assert one.principals == PolicyPrincipals({"AWS": ("*",)}, negated=True)
    assert PolicyPrincipals({"Service": ("x",)}).of_aws == ()


def test_what_stands_for_a_broken_document_denies_everything_to_everyone() -> None:
    policy = denying_all("p")
    assert (policy.document, policy.variables, policy.origin) == ("", False, ("", "none"))
    [one] = policy.statements
    assert (one.denies, one.concerns("iam:GetRole"), one.holds(ASKED)) == (True, True, True)
    assert one.label == "statement 1"
    assert one.principals == PolicyPrincipals({"AWS": ("*",)})
