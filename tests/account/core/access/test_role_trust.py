"""Which services and callers a role's trust policy lets in, and what a decision says of itself."""

import json
from typing import Any

import pytest

from torpor_account.core.access.evaluation import (
    AccessDecision,
    GrantTo,
    PolicySource,
    decide,
    decide_service_trust,
    decide_trust,
    denial_text,
    speaks_to,
)
from torpor_account.core.access.policy_statements import AccessPolicy, AccessQuestion, PolicyPrincipals, read_policy
from torpor_account.core.access.principals import Principal, PrincipalKind, anonymous, root

ACCOUNT = "123456789012"
USER = f"arn:aws:iam::{ACCOUNT}:user/ann"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/tenant"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/tenant/s1"
SAGEMAKER = {"Service": "sagemaker.amazonaws.com"}
ASSUME = AccessQuestion("sts:AssumeRole", ROLE, lambda key: None)


def trust(*statements: tuple[str, Any], name: str = "Principal", action: str = "sts:AssumeRole") -> AccessPolicy:
    listed = [{"Effect": effect, name: principal, "Action": action} for effect, principal in statements]
    return read_policy(json.dumps({"Version": "2012-10-17", "Statement": listed}), "trust", kind="trust")


@pytest.mark.parametrize(
    ("of_role", "allowed"),
    [
        (trust(("Allow", SAGEMAKER)), True),
        (trust(("Allow", {"Service": ["ecs.amazonaws.com", "sagemaker.amazonaws.com"]})), True),
        (trust(("Allow", {"Service": "ecs.amazonaws.com"})), False),
        (trust(("Allow", {"AWS": ACCOUNT})), False),
        (trust(("Allow", "*")), True),
        (trust(("Allow", SAGEMAKER), action="sts:TagSession"), False),
        (trust(("Allow", SAGEMAKER), ("Deny", SAGEMAKER)), False),
        (trust(("Allow", SAGEMAKER), ("Deny", {"Service": "ecs.amazonaws.com"})), True),
        (trust(("Allow", SAGEMAKER), name="NotPrincipal"), False),
        (trust(("Allow", {"Service": "ecs.amazonaws.com"}), name="NotPrincipal"), True),
    ],
)
def test_a_service_assumes_the_roles_that_trust_it(of_role: AccessPolicy, allowed: bool) -> None:
    decision = decide_service_trust("sagemaker.amazonaws.com", ASSUME, of_role)
    assert (decision.allowed, decision.source) == (allowed, PolicySource.TRUST)
    assert decision.statement is not None or not allowed


def test_a_document_without_principals_lets_no_service_in() -> None:
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}
    nobody = read_policy(json.dumps({"Statement": statement}), "p")
    assert decide_service_trust("sagemaker.amazonaws.com", ASSUME, nobody) == AccessDecision(False, PolicySource.TRUST)


def test_a_decision_about_trust_names_the_trust_policy() -> None:
    ann = Principal(PrincipalKind.USER, ACCOUNT, USER)
    assert decide_trust(ann, ASSUME, trust(("Allow", {"AWS": USER}))).why == (
        "statement 1 of trust (role trust policy) allows it"
    )
    refused = decide_trust(ann, ASSUME, trust(("Deny", {"AWS": USER})))
    assert refused.why == "statement 1 of trust (role trust policy) denies it"
    assert denial_text(ann, ASSUME, refused).endswith("with an explicit deny in the role trust policy")
    of_own = decide_trust(root(ACCOUNT), ASSUME, trust(("Allow", SAGEMAKER)))
    assert of_own == AccessDecision(False, PolicySource.TRUST)
    assert denial_text(root(ACCOUNT), ASSUME, of_own).endswith(
        "because no role trust policy allows the sts:AssumeRole action"
    )


def test_what_is_said_of_nobody_of_root_and_of_no_resource() -> None:
    asked = AccessQuestion("s3:GetObject", None, lambda key: None)
    nobody = decide(anonymous(ACCOUNT), asked)
    assert denial_text(anonymous(ACCOUNT), asked, nobody) == (
        "User: anonymous is not authorized to perform: s3:GetObject "
        "because no identity-based policy allows the s3:GetObject action"
    )
    assert nobody.why == "no identity-based policy allows it"
    assert AccessDecision(False).why == "no policy allows it"
    assert decide(root(ACCOUNT), asked).why == "the caller is the account's root"
    assert decide(root(ACCOUNT), asked).policy == nobody.policy == "", "no policy decided"
    assert "no identity-based policy allows" in denial_text(root(ACCOUNT), asked, AccessDecision(False))


ANN = Principal(PrincipalKind.USER, ACCOUNT, USER, unique_id="AIDA")
TENANT = Principal(PrincipalKind.ROLE, ACCOUNT, SESSION, ROLE, "AROA:s1")


@pytest.mark.parametrize(
    ("principal", "named", "grant"),
    [
        (ANN, (USER,), GrantTo.SELF),
        (ANN, (USER, "*"), GrantTo.SELF),
        (ANN, ("*",), GrantTo.ROLE),
        (ANN, (ACCOUNT,), GrantTo.ACCOUNT),
        (ANN, (f"arn:aws:iam::{ACCOUNT}:root",), GrantTo.ACCOUNT),
        (ANN, ("210987654321",), GrantTo.NOBODY),
        (TENANT, (SESSION,), GrantTo.SELF),
        (TENANT, (ROLE,), GrantTo.ROLE),
        (TENANT, (ACCOUNT,), GrantTo.ACCOUNT),
        (TENANT, (USER,), GrantTo.NOBODY),
        (anonymous(ACCOUNT), ("*",), GrantTo.ROLE),
        (anonymous(ACCOUNT), ("", ACCOUNT), GrantTo.NOBODY),
    ],
)
def test_to_whom_a_statement_speaks(principal: Principal, named: tuple[str, ...], grant: GrantTo) -> None:
    assert speaks_to(PolicyPrincipals({"AWS": named}), principal) is grant
    assert speaks_to(None, principal) is GrantTo.NOBODY
    assert speaks_to(PolicyPrincipals({"Service": named}), principal) is GrantTo.NOBODY


@pytest.mark.parametrize(
    ("principal", "named", "grant"),
    [
        (ANN, (USER,), GrantTo.NOBODY),
        (ANN, ("*",), GrantTo.NOBODY),
        (ANN, (ROLE,), GrantTo.ROLE),
        (TENANT, (ROLE,), GrantTo.NOBODY),
        (TENANT, (SESSION,), GrantTo.NOBODY),
        (TENANT, (USER,), GrantTo.ROLE),
    ],
)
def test_not_principal_speaks_to_all_that_it_does_not_name(
    principal: Principal, named: tuple[str, ...], grant: GrantTo
) -> None:
    assert speaks_to(PolicyPrincipals({"AWS": named}, negated=True), principal) is grant


def test_a_name_that_another_one_had_when_the_policy_was_stored_is_not_meant() -> None:
    named = PolicyPrincipals({"AWS": (USER, ROLE)}, ids={USER: "AIDA", ROLE: "AROAOLD"})
    assert speaks_to(named, ANN) is GrantTo.SELF
    assert speaks_to(named, TENANT) is GrantTo.NOBODY
    assert speaks_to(PolicyPrincipals({"AWS": (ROLE,)}, ids={ROLE: "AROA"}), TENANT) is GrantTo.ROLE
