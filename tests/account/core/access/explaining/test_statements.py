"""Which policies and statements an explanation names, and which keys they ask for."""

import json
from typing import Any

import pytest

from torpor_account.core.access.evaluation import PolicySource, decide
from torpor_account.core.access.explaining.denial import HIDDEN, LISTED_MAX, TEXT_MAX, ContextKey, denial
from torpor_account.core.access.explaining.statements import (
    keys_in,
    looked_at,
    matched,
    missing_keys,
    position_of,
    recording,
    verdict,
)
from torpor_account.core.access.policy_statements import AccessPolicy, AccessQuestion, read_policy
from torpor_account.core.access.principals import Principal, PrincipalKind, anonymous

ANN, BOB = "arn:aws:iam::1:user/ann", "arn:aws:iam::1:user/bob"
ASKED = AccessQuestion("s3:GetObject", "arn:aws:s3:::b/k", lambda key: None)


def statement(effect: str = "Allow", action: str = "s3:*", **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": "*", **more}


def policy(name: str, *statements: dict[str, Any], kind: str = "identity", version: str = "2012-10-17") -> AccessPolicy:
    return read_policy(json.dumps({"Version": version, "Statement": list(statements)}), name, kind=kind)


def ann(*policies: AccessPolicy, **more: Any) -> Principal:
    return Principal(PrincipalKind.USER, "1", ANN, identity=policies, **more)


def test_the_policies_of_the_caller_and_of_the_resource_are_looked_at() -> None:
    own, limit, session, bucket = (policy(name, statement()) for name in ("own", "limit", "session", "bucket"))
    assert list(looked_at(ann(own, boundary=limit, session=(session,)), bucket)) == [
        (PolicySource.IDENTITY, own),
        (PolicySource.BOUNDARY, limit),
        (PolicySource.SESSION, session),
        (PolicySource.RESOURCE, bucket),
    ]
    assert list(looked_at(ann(), bucket, PolicySource.TRUST)) == [(PolicySource.TRUST, bucket)]
    assert list(looked_at(ann(), None)) == []


def test_the_statements_that_decide_are_all_that_allow_or_all_that_deny() -> None:
    allows, denies, others = statement(Sid="a"), statement("Deny", Sid="d"), statement(action="sqs:*")
    bucket = policy(
        "bucket",
        {**allows, "Principal": {"AWS": ANN}},
        {**statement(Sid="bob"), "Principal": {"AWS": BOB}},
        kind="resource",
    )

    def labels(caller: Principal) -> list[tuple[str, str]]:
        found = matched(caller, ASKED, decide(caller, ASKED, bucket), bucket)
        return [(one.policy.name, one.statement.sid) for one in found]

    assert labels(ann(policy("own", allows, others))) == [("own", "a"), ("bucket", "a")]
    assert labels(ann(policy("own", allows, denies), policy("more", denies))) == [("own", "d"), ("more", "d")]
    nothing = ann(policy("own", others))
    assert matched(nothing, ASKED, decide(nothing, ASKED), None) == []


def test_the_keys_that_a_question_lacks_are_named_as_the_policies_spell_them() -> None:
    own = policy(
        "own",
        statement(Condition={"StringLike": {"aws:UserName": "${aws:PrincipalTag/Team}", "aws:Referer": "r"}}),
        statement(action="sqs:*", Condition={"Bool": {"aws:SecureTransport": "true"}}),
    )
    asked = ASKED._replace(lookup={"aws:referer": ("r",)}.get)
    assert missing_keys(ann(own), asked, None) == ["aws:PrincipalTag/Team", "aws:UserName"]


def test_a_document_without_variables_asks_for_no_key_in_its_texts() -> None:
    texts = statement(Condition={"StringLike": {"k": "${aws:username}${ a:b , 'c'}${*}"}})
    assert keys_in(policy("p", texts)) == ["k", "aws:username", "a:b"]
    assert keys_in(policy("p", texts, version="2008-10-17")) == ["k"]
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*"}
    assert keys_in(policy("p", trust, kind="trust")) == []


@pytest.mark.parametrize(("count", "more"), [(3, ""), (4, "; and 1 more"), (5, "; and 2 more")])
def test_a_verdict_speaks_of_the_first_three_statements(count: int, more: str) -> None:
    said = verdict(ann(), policy("p", *[statement()] * count), ASKED)
    assert said == f"statement 1 allows it; statement 2 allows it; statement 3 allows it{more}"


def test_a_verdict_says_what_a_statement_lacks() -> None:
    when = {"Null": {"k": "true"}, "StringEquals": {"K": ["a", "b"]}}
    for effect, verb in (("Allow", "allows"), ("Deny", "denies")):
        one = policy("p", statement(effect, Condition=when))
        assert verdict(ann(), one, ASKED) == f"statement 1 {verb} it if StringEquals K a, b"
        elsewhere = policy("p", {**statement(effect), "Resource": "arn:aws:s3:::c/*"})
        assert verdict(ann(), elsewhere, ASKED) == f"statement 1 {verb} it for other resources"


def test_a_lookup_notes_what_it_was_asked() -> None:
    seen: dict[str, tuple[str, ...]] = {}
    noting = recording({"a": ["x", "y"]}.get, seen)
    assert (noting("a"), noting("b")) == (["x", "y"], None)
    assert seen == {"a": ("x", "y"), "b": ()}


@pytest.mark.parametrize(
    ("document", "number", "place"),
    [
        ('{"Statement":{}}', 1, ((1, 14), (1, 15))),
        ('{"Statement":[{},{"a":1}]}', 2, ((1, 18), (1, 24))),
        ('{"Statement":{},"Statement":\t[ {} ]}', 1, ((1, 32), (1, 33))),
        ('\n {\r\n"Id":"Statement",\n"Statement":\n\n[{}]\n}', 1, ((6, 2), (6, 3))),
    ],
)
def test_the_place_of_a_statement_counts_from_one(document: str, number: int, place: Any) -> None:
    assert position_of(document, number) == place


def test_a_denial_keeps_texts_of_a_bounded_length() -> None:
    def kept(text: str) -> str:
        asked = ASKED._replace(action=text)
        return denial(anonymous("1"), asked, decide(anonymous("1"), asked), text).action

    assert kept("a" * TEXT_MAX) == "a" * TEXT_MAX
    assert kept("a" * (TEXT_MAX + 1)) == f"{'a' * (TEXT_MAX - 1)}…"


def test_a_denial_keeps_no_value_that_is_used_like_a_password_and_few_of_any_other() -> None:
    many = tuple(map(str, range(LISTED_MAX + 1)))
    known = {"aws:referer": ("secret",), "sts:externalid": ("secret",), "aws:tagkeys": many}
    assert known.keys() > HIDDEN
    for only, values in known.items():
        asked = ASKED._replace(lookup={only: values}.get)
        own = policy("own", statement(Condition={"StringEquals": {only: "x"}}))
        found = denial(ann(own), asked, decide(ann(own), asked), "text")
        kept = ("(not kept)",) if only in HIDDEN else values[:LISTED_MAX]
        assert found.keys == (ContextKey(only, kept),)
    nobody = denial(anonymous("1"), ASKED._replace(resource=None), decide(anonymous("1"), ASKED), "text")
    assert (nobody.caller, nobody.resource, nobody.message) == ("anonymous", None, "text")
