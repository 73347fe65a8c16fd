"""Policies decide as IAM's guide says: by its tables, and by a slow oracle over many policies."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.account.helpers import policy_oracle
from tests.helpers.example_counts import tries
from torpor_account.core.access.conditions import OPERATORS, BadPolicy
from torpor_account.core.access.evaluation import PolicySource, decide, decide_trust, denial_text
from torpor_account.core.access.policy_statements import AccessPolicy, AccessQuestion, denying_all, read_policy
from torpor_account.core.access.principals import Principal, PrincipalKind, anonymous, root

ACCOUNT = "123456789012"
USER = f"arn:aws:iam::{ACCOUNT}:user/ann"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/tenant"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/tenant/s1"
INVOKE = "sagemaker:InvokeEndpoint"
PREFIX = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:endpoint/"
HOUSES = f"{PREFIX}houses"
Context = Mapping[str, Sequence[str]]


def policy(*statements: Mapping[str, Any], version: str | None = "2012-10-17", kind: str = "identity") -> AccessPolicy:
    document = {"Statement": list(statements)} | ({} if version is None else {"Version": version})
    return read_policy(json.dumps(document), "tested", kind=kind)


def statement(effect: str = "Allow", action: Any = INVOKE, resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource, **more}


def on(condition: Mapping[str, Any], effect: str = "Allow") -> dict[str, Any]:
    return statement(effect, Condition=condition)


def user(*policies: AccessPolicy, **more: Any) -> Principal:
    return Principal(PrincipalKind.USER, ACCOUNT, USER, identity=policies, name="ann", **more)


def session(*policies: AccessPolicy, **more: Any) -> Principal:
    return Principal(PrincipalKind.ROLE, ACCOUNT, SESSION, ROLE, identity=policies, **more)


def question(context: Context | None = None, action: str = INVOKE, resource: str | None = HOUSES) -> AccessQuestion:
    return AccessQuestion(action, resource, (context or {}).get)


TARGET = "sagemaker:targetmodel"


@pytest.mark.parametrize(
    ("given", "context", "allowed"),
    [
        # actions: without regard to case, with wildcards anywhere
        (statement(action="SAGEMAKER:invokeendpoint"), {}, True),
        (statement(action="sagemaker:Invoke*"), {}, True),
        (statement(action="sagemaker:*Endpoint"), {}, True),
        (statement(action=["s3:*", "*"]), {}, True),
        (statement(action="sagemaker:InvokeEndpoint?"), {}, False),
        (statement(action="s3:*"), {}, False),
        # resources: with regard to case, and a wildcard crosses slashes
        (statement(resource=HOUSES), {}, True),
        (statement(resource=HOUSES.replace("houses", "Houses")), {}, False),
        (statement(resource="arn:aws:sagemaker:*:*:endpoint/h*"), {}, True),
        (statement(resource=HOUSES.replace("houses", "house?")), {}, True),
        (statement(resource=HOUSES.replace("houses", "other")), {}, False),
        # the target model
        (on({"StringLike": {"sagemaker:TargetModel": "tenant-a/*"}}), {TARGET: ["tenant-a/m.tar.gz"]}, True),
        (on({"StringLike": {"SAGEMAKER:targetMODEL": "tenant-a/*"}}), {TARGET: ["tenant-a/m.tar.gz"]}, True),
        (on({"StringLike": {"sagemaker:TargetModel": "tenant-a/*"}}), {TARGET: ["tenant-b/m.tar.gz"]}, False),
        (on({"StringLike": {"sagemaker:TargetModel": "tenant-a/*"}}), {TARGET: ["TENANT-A/m.tar.gz"]}, False),
        (on({"StringLike": {"sagemaker:TargetModel": "tenant-a/*"}}), {}, False),
        # values of one key: OR; keys AND operators: AND
        (on({"StringEquals": {"k": ["a", "b"]}}), {"k": ["b"]}, True),
        (on({"StringEquals": {"k": "a", "l": "b"}}), {"k": ["a"]}, False),
        (on({"StringEquals": {"k": "a"}, "StringLike": {"l": "*"}}), {"k": ["a"], "l": ["x"]}, True),
        # a missing key
        (on({"StringNotEquals": {"k": "a"}}), {}, True),
        (on({"ArnNotLike": {"k": "arn:*"}}), {}, True),
        (on({"StringEqualsIfExists": {"k": "a"}}), {}, True),
        (on({"StringEqualsIfExists": {"k": "a"}}), {"k": ["b"]}, False),
        (on({"NumericLessThan": {"k": 5}}), {}, False),
        (on({"Null": {"k": "true"}}), {}, True),
        (on({"Null": {"k": True}}), {"k": ["a"]}, False),
        (on({"Null": {"k": "false"}}), {"k": ["a"]}, True),
        # sets
        (on({"ForAllValues:StringEquals": {"k": ["a", "b"]}}), {}, True),
        (on({"ForAllValues:StringEquals": {"k": ["a", "b"]}}), {"k": ["a", "c"]}, False),
        (on({"ForAnyValue:StringEquals": {"k": ["a", "b"]}}), {}, False),
        (on({"ForAnyValue:StringEquals": {"k": ["a", "b"]}}), {"k": ["c", "b"]}, True),
        (on({"ForAnyValue:StringNotEquals": {"k": "a"}}), {}, False),
        # kinds of values
        (on({"StringEqualsIgnoreCase": {"k": "AbC"}}), {"k": ["aBc"]}, True),
        (on({"StringEquals": {"k": "a*"}}), {"k": ["abc"]}, False),
        (on({"StringLike": {"k": "a.c"}}), {"k": ["abc"]}, False),
        (on({"NumericGreaterThanEquals": {"k": "1024"}}), {"k": ["2048"]}, True),
        (on({"DateLessThan": {"k": "2026-01-01T00:00:00Z"}}), {"k": ["2025-12-31T23:59:59Z"]}, True),
        (on({"DateGreaterThan": {"k": "2026-01-01T00:00:00Z"}}), {"k": ["1767225601"]}, True),
        (on({"Bool": {"k": False}}), {"k": ["false"]}, True),
        (on({"BinaryEquals": {"k": "QmluYXJ5"}}), {"k": ["QmluYXJ5"]}, True),
        (on({"IpAddress": {"k": "10.0.0.0/8"}}), {"k": ["10.1.2.3"]}, True),
        (on({"IpAddress": {"k": "10.0.0.0/8"}}), {"k": ["::1"]}, False),
        (on({"NotIpAddress": {"k": ["10.0.0.0/8", "192.0.2.1"]}}), {"k": ["192.0.2.1"]}, False),
        (on({"ArnLike": {"k": "arn:aws:iam::*:role/*"}}), {"k": [ROLE]}, True),
        (on({"ArnLike": {"k": "arn:*:role/*"}}), {"k": [ROLE]}, False),  # part by part
        # variables
        (statement(resource=f"{PREFIX}${{aws:PrincipalTag/where}}"), {"aws:principaltag/where": ["houses"]}, True),
        (statement(resource=f"{PREFIX}${{aws:PrincipalTag/where}}"), {}, False),
        (statement(resource=f"{PREFIX}${{aws:PrincipalTag/where}}"), {"aws:principaltag/where": ["*"]}, False),
        (on({"StringLike": {"k": "${t, 'any'}*"}}), {"k": ["anything"]}, True),
        (on({"StringLike": {"k": "${*}a${?}${$}"}}), {"k": ["*a?$"]}, True),
        (on({"StringLike": {"k": "${*}a"}}), {"k": ["xa"]}, False),
        (on({"StringNotEquals": {"k": "${gone}"}}), {"k": ["a"]}, True),
        # Not…
        ({"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}, {}, True),
        ({"Effect": "Allow", "NotAction": "sagemaker:*", "Resource": "*"}, {}, False),
        ({"Effect": "Allow", "Action": "*", "NotResource": HOUSES}, {}, False),
        ({"Effect": "Allow", "Action": "*", "NotResource": "arn:aws:s3:::*"}, {}, True),
    ],
)
def test_one_statement_allows_or_does_not(given: Any, context: Context, allowed: bool) -> None:
    assert decide(user(policy(given)), question(context)).allowed is allowed


def test_variables_are_plain_text_in_documents_without_the_new_version() -> None:
    one = on({"StringEquals": {"k": "${aws:username}"}})
    for version in (None, "2008-10-17"):
        old = user(policy(one, version=version))
        assert not decide(old, question({"k": ["ann"], "aws:username": ["ann"]})).allowed
        assert decide(old, question({"k": ["${aws:username}"]})).allowed
    assert decide(user(policy(one)), question({"k": ["ann"], "aws:username": ["ann"]})).allowed


TENANTS = on({"StringNotLike": {"sagemaker:TargetModel": "tenant-a/*"}}, effect="Deny")


def test_a_negated_condition_denies_calls_without_the_header_too() -> None:
    ann = user(policy(statement(), TENANTS))
    assert decide(ann, question({TARGET: ["tenant-a/m.tar.gz"]})).allowed
    assert not decide(ann, question({TARGET: ["tenant-b/m.tar.gz"]})).allowed
    assert not decide(ann, question()).allowed


def test_an_explicit_deny_wins_and_names_its_statement() -> None:
    decision = decide(user(policy(statement(), statement("Deny", Sid="NoHouses", resource=HOUSES))), question())
    assert (decision.allowed, decision.source) == (False, PolicySource.IDENTITY)
    assert decision.why == 'statement "NoHouses" of tested (identity-based policy) denies it'
    assert denial_text(user(), question(), decision) == (
        f"User: {USER} is not authorized to perform: sagemaker:InvokeEndpoint on resource: {HOUSES} "
        "with an explicit deny in an identity-based policy"
    )


def test_nothing_is_allowed_by_default_but_to_root() -> None:
    decision = decide(user(), question())
    assert denial_text(user(), question(), decision) == (
        f"User: {USER} is not authorized to perform: sagemaker:InvokeEndpoint on resource: {HOUSES} "
        "because no identity-based policy allows the sagemaker:InvokeEndpoint action"
    )
    assert decide(root(ACCOUNT), question()).allowed
    assert not decide(anonymous(ACCOUNT), question()).allowed


ALLOW, DENY, OTHER = policy(statement()), policy(statement("Deny")), policy(statement(action="s3:*"))


@pytest.mark.parametrize(
    ("principal", "allowed", "source"),
    [
        (user(ALLOW, boundary=ALLOW), True, PolicySource.IDENTITY),
        (user(ALLOW, boundary=OTHER), False, PolicySource.BOUNDARY),
        (user(OTHER, boundary=ALLOW), False, PolicySource.IDENTITY),
        (user(ALLOW, boundary=DENY), False, PolicySource.BOUNDARY),
        (session(ALLOW, session=(ALLOW,)), True, PolicySource.IDENTITY),
        (session(ALLOW, session=(OTHER,)), False, PolicySource.SESSION),
        (session(OTHER, session=(ALLOW,)), False, PolicySource.IDENTITY),
        (session(ALLOW, session=(OTHER, ALLOW)), True, PolicySource.IDENTITY),
        (session(ALLOW, session=(DENY,)), False, PolicySource.SESSION),
        (session(ALLOW, session=()), False, PolicySource.SESSION),
        (user(denying_all("broken"), ALLOW), False, PolicySource.IDENTITY),
    ],
)
def test_boundary_and_session_policy_only_take_away(principal: Principal, allowed: bool, source: PolicySource) -> None:
    decision = decide(principal, question())
    assert (decision.allowed, decision.source) == (allowed, source)


GET, OBJECT = "s3:GetObject", "arn:aws:s3:::models/a/m.tar.gz"


def bucket(principal: Any, effect: str = "Allow", name: str = "Principal") -> AccessPolicy:
    return policy({**statement(effect, "s3:*", "arn:aws:s3:::models/*"), name: principal}, kind="resource")


NARROW = policy(statement(action="sqs:*"))


@pytest.mark.parametrize(
    ("principal", "of_bucket", "allowed"),
    [
        (user(), bucket({"AWS": USER}), True),
        (user(), bucket({"AWS": [ROLE]}), False),
        (user(), bucket("*"), True),
        (anonymous(ACCOUNT), bucket("*"), True),
        (anonymous(ACCOUNT), bucket({"AWS": ACCOUNT}), False),
        (user(), bucket({"AWS": ACCOUNT}), False),  # the account's own policies decide
        (user(OTHER), bucket({"AWS": f"arn:aws:iam::{ACCOUNT}:root"}), True),
        (user(boundary=NARROW), bucket({"AWS": USER}), True),
        (session(boundary=NARROW), bucket({"AWS": ROLE}), False),
        (session(session=(NARROW,)), bucket({"AWS": ROLE}), False),
        (session(session=(NARROW,)), bucket({"AWS": SESSION}), True),
        (session(), bucket({"AWS": ROLE}), True),
        (user(OTHER), bucket({"AWS": USER}, "Deny"), False),
        (user(OTHER), bucket({"AWS": USER}, "Deny", "NotPrincipal"), True),
        (session(OTHER), bucket({"AWS": USER}, "Deny", "NotPrincipal"), False),
        (root(ACCOUNT), bucket("*", "Deny"), False),
        (root(ACCOUNT), None, True),
    ],
)
def test_a_buckets_policy_adds_and_takes_away(principal: Principal, of_bucket: Any, allowed: bool) -> None:
    asked = question(action=GET, resource=OBJECT)
    assert decide(principal, asked, of_bucket).allowed is allowed


@pytest.mark.parametrize(
    "action", ["s3:GetBucketPolicy", "s3:PutBucketPolicy", "s3:DeleteBucketPolicy", "S3:putbucketPOLICY"]
)
def test_root_can_repair_a_buckets_policy(action: str) -> None:
    repair = question(action=action, resource="arn:aws:s3:::models")
    closed = policy({**statement("Deny", "*", "*"), "Principal": "*"}, kind="resource")
    assert decide(root(ACCOUNT), repair, closed).allowed
    assert not decide(root(ACCOUNT), repair._replace(action="s3:ListBucket"), closed).allowed
    assert not decide(user(ALLOW, OTHER), repair, closed).allowed


@pytest.mark.parametrize(
    ("action", "resource"), [("s3:PutObject", "arn:aws:s3:::models/*"), ("s3:*", "arn:aws:s3:::others/*")]
)
def test_a_buckets_policy_grants_what_it_names_alone(action: str, resource: str) -> None:
    other = policy({**statement("Allow", action, resource), "Principal": {"AWS": USER}}, kind="resource")
    asked = question(action=GET, resource=OBJECT)
    assert not decide(user(), asked, other).allowed
    assert not decide(user(), asked, bucket({"AWS": USER}, "Deny")).allowed


def test_of_several_grants_the_first_of_the_most_direct_ones_is_named() -> None:
    to_user = [{**statement("Allow", "s3:*"), "Principal": {"AWS": USER}, "Sid": sid} for sid in ("first", "second")]
    to_all = {**statement("Allow", "s3:*"), "Principal": "*", "Sid": "all"}
    found = decide(user(), question(action=GET, resource=OBJECT), policy(to_all, *to_user, to_all, kind="resource"))
    assert found.why == 'statement "first" of tested (resource-based policy) allows it'


def trust(principal: Any, effect: str = "Allow") -> AccessPolicy:
    return policy({"Effect": effect, "Principal": principal, "Action": "sts:AssumeRole"}, kind="trust")


MAY = policy(statement(action="sts:*"))


@pytest.mark.parametrize(
    ("principal", "of_role", "allowed"),
    [
        (user(), trust({"AWS": USER}), True),
        (user(MAY), trust({"AWS": ACCOUNT}), True),
        (user(), trust({"AWS": ACCOUNT}), False),
        (user(MAY), trust({"Service": "sagemaker.amazonaws.com"}), False),
        (user(MAY), trust({"AWS": USER}, "Deny"), False),
        (user(MAY, policy(statement("Deny", "sts:*"))), trust({"AWS": USER}), False),
        (root(ACCOUNT), trust({"AWS": ACCOUNT}), True),
        (root(ACCOUNT), trust({"Service": "sagemaker.amazonaws.com"}), False),
    ],
)
def test_a_role_is_assumed_only_by_whom_it_trusts(principal: Principal, of_role: AccessPolicy, allowed: bool) -> None:
    assert decide_trust(principal, question(action="sts:AssumeRole", resource=ROLE), of_role).allowed is allowed


def test_an_unknown_resource_is_allowed_only_by_everything_and_denied_by_anything() -> None:
    asked = question(resource=None)
    assert decide(user(ALLOW), asked).allowed
    assert not decide(user(policy(statement(resource=HOUSES))), asked).allowed
    assert not decide(user(ALLOW, policy(statement("Deny", resource=HOUSES))), asked).allowed


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("[", "no JSON"),
        ("[]", "no JSON object"),
        ("{}", "Statement"),
        ('{"Statement": []}', "Statement"),
        ('{"Version": "2013-01-01", "Statement": {}}', "Version"),
        (json.dumps({"Statement": {"Effect": "allow"}}), "Effect"),
        (json.dumps({"Statement": statement(Conditions={})}), "unknown element Conditions"),
        (json.dumps({"Statement": {"Effect": "Allow", "Action": "*"}}), "Resource"),
        (json.dumps({"Statement": statement(NotAction="*")}), "both Action and NotAction"),
        (json.dumps({"Statement": statement(Principal="*")}), "must not have Principal"),
        (json.dumps({"Statement": statement(action=[])}), "Action"),
        (json.dumps({"Statement": statement(action="*:InvokeEndpoint")}), r"\*:InvokeEndpoint must be"),
        (json.dumps({"Statement": statement(action=["s3:*", "s*:InvokeEndpoint"])}), r"s\*:InvokeEndpoint must be"),
        (json.dumps({"Statement": statement(action="InvokeEndpoint")}), "InvokeEndpoint must be"),
        (json.dumps({"Statement": statement(resource="arn:aws:*:*:*:endpoint/house")}), "must be .* an ARN"),
        (json.dumps({"Statement": statement(resource="house*")}), "must be .* an ARN"),
        (json.dumps({"Statement": on({"StringMatches": {"k": "a"}})}), "no condition operator StringMatches"),
        (json.dumps({"Statement": on({"NumericEquals": {"k": "a"}})}), "not a number"),
        (json.dumps({"Statement": on({"IpAddress": {"k": "a"}})}), "not an IP address"),
        (json.dumps({"Statement": on({"StringEquals": "a"})}), "Condition"),
    ],
)
def test_a_document_that_means_nothing_is_refused(document: str, why: str) -> None:
    with pytest.raises(BadPolicy, match=why):
        read_policy(document, "tested")


def test_a_kind_of_principal_that_nobody_is_is_refused() -> None:
    with pytest.raises(BadPolicy, match="Aws is none of the kinds of principals"):
        bucket({"Aws": USER}, "Deny")


@pytest.mark.parametrize(("unique_id", "allowed"), [("AIDAOLD", True), ("AIDANEW", False)])
def test_a_policy_speaks_of_those_who_had_the_name_when_it_was_stored(unique_id: str, allowed: bool) -> None:
    statements = {**statement(action="s3:*", resource="arn:aws:s3:::models/*"), "Principal": {"AWS": USER}}
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    stored = read_policy(document, "p", kind="resource", ids={USER: "AIDAOLD"})
    asked = question(action=GET, resource=OBJECT)
    assert decide(replace(user(), unique_id=unique_id), asked, stored).allowed is allowed
    document = document.replace('"Allow"', '"Deny"').replace('"Principal"', '"NotPrincipal"')
    closed = read_policy(document, "p", kind="resource", ids={USER: "AIDAOLD"})
    assert decide(replace(user(OTHER), unique_id=unique_id), asked, closed).allowed is allowed


# -- against the oracle ------------------------------------------------------------------------------------------------
KEYS = ["k", "L", "aws:PrincipalTag/t"]
VALUES = ["a", "A", "ab", "a*", "*", "?b", "${k}", "${l, 'ab'}", "${*}", "10", "9.5", "2026-01-01T00:00:00Z", "YWI="]
VALUES += ["10.0.0.1", "10.0.0.0/8", "true", "False", "arn:aws:iam::1:role/a", "arn:aws:*:role/*", "arn:aws:iam::*:ro*"]
FIT = {
    "Numeric": ["10", "9.5", "-3"],
    "Date": ["2026-01-01T00:00:00Z", "1767225600", "2025-06-01"],
    "Bool": ["true", "False"],
    "BinaryEquals": ["YWI=", "YWM="],
    "IpAddress": ["10.0.0.1", "10.0.0.0/8", "::1"],
    "NotIpAddress": ["10.0.0.1", "10.0.0.0/8", "::1"],
}


def conditions() -> st.SearchStrategy[dict[str, Any]]:
    def of(operator: str) -> st.SearchStrategy[dict[str, Any]]:
        fitting = next((values for kind, values in FIT.items() if operator.startswith(kind)), VALUES)
        named = st.tuples(st.sampled_from(["", "ForAllValues:", "ForAnyValue:"]), st.sampled_from(["", "IfExists"]))
        values = st.lists(st.sampled_from(fitting), min_size=1, max_size=2)
        keys = st.dictionaries(st.sampled_from(KEYS), values, min_size=1, max_size=2)
        return st.builds(lambda name, block: {f"{name[0]}{operator}{name[1]}": block}, named, keys)

    null = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["true", "false"]), min_size=1).map(
        lambda block: {"Null": block}
    )
    return st.lists(st.sampled_from(sorted(OPERATORS)).flatmap(of) | null, max_size=2).map(
        lambda blocks: {operator: keys for block in blocks for operator, keys in block.items()}
    )


def statements(principals: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    actions = st.sampled_from(["s3:GetObject", "s3:*", "*", "S3:getobject", "sagemaker:*", "s3:Get?bject"])
    resources = st.sampled_from(
        ["*", "arn:aws:s3:::b/*", "arn:aws:s3:::b/${k}", "arn:aws:s3:::c/*", "arn:aws:s3:::${aws:PrincipalTag/t}*"]
    )
    parts = {
        "effect": st.sampled_from(["Allow", "Allow", "Deny"]),
        "action": st.tuples(
            st.sampled_from(["Action", "Action", "NotAction"]), st.lists(actions, min_size=1, max_size=2)
        ),
        "resource": st.tuples(
            st.sampled_from(["Resource", "Resource", "NotResource"]), st.lists(resources, min_size=1, max_size=2)
        ),
        "condition": st.just({}) | conditions(),
        "principal": st.tuples(
            st.sampled_from(["Principal", "Principal", "NotPrincipal"]),
            st.sampled_from(["*", *({"AWS": one} for one in (USER, ROLE, SESSION, ACCOUNT, [USER, SESSION]))]),
        ),
    }

    def build(effect: str, action: Any, resource: Any, condition: Any, principal: Any) -> dict[str, Any]:
        found = {"Effect": effect, action[0]: action[1], resource[0]: resource[1], "Condition": condition}
        return found | ({principal[0]: principal[1]} if principals else {})

    return st.builds(build, **parts)


def documents(principals: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    versions = st.sampled_from([{"Version": "2012-10-17"}, {"Version": "2012-10-17"}, {}])
    found = st.lists(statements(principals), min_size=1, max_size=2)
    return st.builds(lambda version, listed: {**version, "Statement": listed}, versions, found)


@settings(max_examples=tries(40))
@given(
    identity=st.lists(documents(), max_size=2),
    boundary=st.none() | documents(),
    limit=st.none() | documents(),
    of_bucket=st.none() | documents(principals=True),
    is_session=st.booleans(),
    context=st.dictionaries(
        st.sampled_from([key.lower() for key in KEYS]), st.lists(st.sampled_from(VALUES), max_size=2)
    ),
)
def test_every_decision_is_the_oracles(  # type: ignore[no-untyped-def]
    identity, boundary, limit, of_bucket, is_session, context
) -> None:
    def read(document: Any, kind: str = "identity") -> AccessPolicy:
        return read_policy(json.dumps(document), "drawn", kind=kind)

    make, session_of = (session, limit) if is_session else (user, None)
    principal = make(
        *map(read, identity),
        boundary=None if boundary is None else read(boundary),
        session=None if session_of is None else (read(session_of),),
    )
    action, resource = "s3:GetObject", "arn:aws:s3:::b/a"
    bucket_policy = None if of_bucket is None else read(of_bucket, "resource")
    decision = decide(principal, AccessQuestion(action, resource, context.get), bucket_policy)
    caller = {"arn": principal.arn, "role": principal.role or None, "account": ACCOUNT}
    caller |= {"identity": identity, "boundary": boundary, "session": session_of}
    assert decision.allowed is policy_oracle.allowed(caller, action, resource, context, of_bucket)


@settings(max_examples=tries(80))
@given(pattern=st.text("ab*?:", max_size=8), text=st.text("ab*?:\n", max_size=8))
def test_wildcards_match_as_regular_expressions_do(pattern: str, text: str) -> None:
    one = user(policy(on({"StringLike": {"k": pattern}})))
    assert decide(one, question({"k": [text]})).allowed is policy_oracle._glob(pattern, text, {}, False)


def test_a_pattern_of_many_stars_takes_no_longer_than_its_length() -> None:
    one = user(policy(on({"StringLike": {"k": "*a" * 200 + "b"}})))
    assert not decide(one, question({"k": ["a" * 1024]})).allowed
