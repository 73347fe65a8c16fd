"""Checks policy documents as IAM does: their form by a table of rules, then whether they can be evaluated."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from torpor_account.core.access.conditions import BadPolicy
from torpor_account.core.access.known_keys import check_condition_keys
from torpor_account.core.access.policy_statements import AccessPolicy, read_policy
from torpor_account.iam import errors
from torpor_account.iam.context import Iam
from torpor_account.iam.policies.named_principals import ids_named

Statement = Mapping[str, Any]
Rules = tuple[tuple[Callable[[Statement], bool], str], ...]

TRUST: Rules = (
    (lambda statement: statement.get("Effect") not in ("Allow", "Deny"), "Missing required field Effect"),
    (lambda statement: "Resource" in statement or "NotResource" in statement, "Has prohibited field Resource"),
    (lambda statement: "Principal" not in statement, "Missing required field Principal"),
    (lambda statement: "Action" not in statement and "NotAction" not in statement, "Missing required field Action"),
)
"""The rules for a trust policy: who may assume the role."""

PERMISSIONS: Rules = (
    (lambda statement: statement.get("Effect") not in ("Allow", "Deny"), "Syntax errors in policy."),
    (lambda statement: "Principal" in statement, "Policy document should not specify a principal."),
    (
        lambda statement: "Action" not in statement and "NotAction" not in statement,
        "Policy statement must contain actions.",
    ),
    (
        lambda statement: "Resource" not in statement and "NotResource" not in statement,
        "Policy statement must contain resources.",
    ),
)
"""The rules for a permissions policy: what the role may do."""


def trusted_ids(iam: Iam, account: str, document: str) -> dict[str, str]:
    """The unique ids of the users and roles that a trust policy names, by ARN. Raises MalformedPolicyDocument."""
    _check(document, TRUST, unreadable="This policy contains invalid Json")
    policy = _check_meaning(document, "trust")
    try:
        return ids_named(iam, account, policy)
    except BadPolicy as error:
        raise errors.MALFORMED(str(error)) from None


def check_permissions(document: str) -> None:
    _check(document, PERMISSIONS, unreadable="Syntax errors in policy.")
    _check_meaning(document, "identity")


def _check_meaning(document: str, kind: str) -> AccessPolicy:
    """Raises MalformedPolicyDocument for what could not be enforced, such as an unknown operator or key."""
    try:
        policy = read_policy(document, "policy", kind=kind)
    except BadPolicy as error:
        raise errors.MALFORMED(f"Syntax errors in policy: {error}.") from None
    try:
        check_condition_keys(policy)
    except BadPolicy as error:
        raise errors.MALFORMED(f"The policy cannot be enforced: {error}.") from None
    return policy


def _check(document: str, rules: Rules, unreadable: str) -> None:
    for statement in _statements(document, unreadable):
        for broken, why in rules:
            if broken(statement):
                raise errors.MALFORMED(why)


def _statements(document: str, unreadable: str) -> list[Statement]:
    """The statements of a document. A single statement needs no list."""
    try:
        policy = json.loads(document)
    except (ValueError, RecursionError):
        raise errors.MALFORMED(unreadable) from None
    found: Any = policy.get("Statement") if isinstance(policy, dict) else None
    statements: list[Any] = found if isinstance(found, list) else [found]
    if not statements or not all(isinstance(statement, dict) for statement in statements):
        raise errors.MALFORMED(unreadable)
    return statements
