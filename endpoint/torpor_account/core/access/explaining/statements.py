"""Explains a decision: the policies that were looked at, the statements that matched, and the keys that they ask for.

`evaluation` decides; nothing here has a say in what is allowed.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from torpor_account.core.access.evaluation import AccessDecision, PolicySource, applies, speaks_to
from torpor_account.core.access.policy_statements import AccessPolicy, AccessQuestion, AccessStatement
from torpor_account.core.access.principals import Principal
from torpor_account.core.access.text_patterns import Lookup

_VARIABLE = re.compile(r"\$\{\s*([^{},\s*?$][^{},\s]*)[^{}]*\}")

NAMED_MAX = 3
"""The most statements of one policy that `verdict` speaks of."""


class MatchedStatement(NamedTuple):
    """A statement that applies, with its policy and where that stands."""

    source: PolicySource
    policy: AccessPolicy
    statement: AccessStatement


def looked_at(
    principal: Principal, resource_policy: AccessPolicy | None, source: PolicySource = PolicySource.RESOURCE
) -> Iterator[tuple[PolicySource, AccessPolicy]]:
    """All policies that have a say about the caller. `source` is the kind of the resource's policy."""
    yield from ((PolicySource.IDENTITY, policy) for policy in principal.identity)
    if principal.boundary is not None:
        yield PolicySource.BOUNDARY, principal.boundary
    yield from ((PolicySource.SESSION, policy) for policy in principal.session or ())
    if resource_policy is not None:
        yield source, resource_policy


def matched(
    principal: Principal, question: AccessQuestion, decision: AccessDecision, resource_policy: AccessPolicy | None
) -> list[MatchedStatement]:
    """The statements that determine the decision: those that deny, or those that allow; none if nothing did."""
    if decision.statement is None:
        return []
    return [
        MatchedStatement(source, policy, statement)
        for source, policy in looked_at(principal, resource_policy)
        for statement in policy.statements
        if statement.denies is not decision.allowed
        and applies(statement, question)
        and (source is not PolicySource.RESOURCE or speaks_to(statement.principals, principal))
    ]


def keys_in(policy: AccessPolicy, action: str | None = None) -> list[str]:
    """The condition keys that the policy's statements read, as it spells them. `action`: only its statements."""
    found: dict[str, str] = {}
    for statement in policy.statements:
        if action is not None and not statement.concerns(action):
            continue
        texts = [*(statement.resources.texts if statement.resources else ())]
        texts += [value for condition in statement.conditions for value in condition.values]
        names = [condition.spelled for condition in statement.conditions]
        if policy.variables:
            names += [name for text in texts for name in _VARIABLE.findall(text)]
        for name in names:
            found.setdefault(name.lower(), name)
    return list(found.values())


def missing_keys(principal: Principal, question: AccessQuestion, resource_policy: AccessPolicy | None) -> list[str]:
    """The condition keys that policies read about this action and that the question has no value for."""
    asked = (key for _, policy in looked_at(principal, resource_policy) for key in keys_in(policy, question.action))
    found = {key.lower(): key for key in asked if question.lookup(key.lower()) is None}
    return [found[key] for key in sorted(found)]


def verdict(principal: Principal, policy: AccessPolicy, question: AccessQuestion) -> str:
    """What one policy says about the question, in words: what its statements about the action lack."""
    about = [statement for statement in policy.statements if statement.concerns(question.action)]
    if not about:
        return f"no statement names {question.action}"
    said = [_said(principal, statement, question) for statement in about[:NAMED_MAX]]
    more = len(about) - len(said)
    return "; ".join([*said, *([f"and {more} more"] if more else [])])


def _said(principal: Principal, statement: AccessStatement, question: AccessQuestion) -> str:
    verb = "denies" if statement.denies else "allows"
    if statement.principals is not None and not speaks_to(statement.principals, principal):
        return f"{statement.label} {verb} it to others"
    if applies(statement, question):
        return f"{statement.label} {verb} it"
    if not replace(statement, conditions=()).holds(question):
        return f"{statement.label} {verb} it for other resources"
    failed = next(
        condition
        for condition in statement.conditions
        if not condition.holds(question.lookup, unknown=statement.denies)
    )
    wanted = ", ".join(failed.values)
    return f"{statement.label} {verb} it if {failed.operator} {failed.spelled} {wanted}"


def recording(lookup: Lookup, seen: dict[str, tuple[str, ...]]) -> Lookup:
    """A lookup that notes each key that it is asked for with its values: none for a key that is absent."""

    def noting(key: str) -> Sequence[str] | None:
        values = lookup(key)
        seen[key] = tuple(values or ())
        return values

    return noting


class TextPosition(NamedTuple):
    """A place in a document. Both count from 1."""

    line: int
    column: int


def position_of(document: str, number: int) -> tuple[TextPosition, TextPosition]:
    """Where the statement of this number (from 1) begins and ends in a document that was read."""
    at = _value_of_statement(document)
    decoder = json.JSONDecoder()
    if document[at] == "[":
        at = _next(document, at + 1)
        for _ in range(number - 1):
            at = _next(document, _next(document, decoder.raw_decode(document, at)[1]) + 1)
    end = decoder.raw_decode(document, at)[1]
    return _position(document, at), _position(document, end - 1)


def _value_of_statement(document: str) -> int:
    """Where the value of the outermost member Statement begins. Of several, JSON takes the last."""
    decoder, found = json.JSONDecoder(), 0
    at = _next(document, _next(document, 0) + 1)
    while document[at] == '"':
        name, at = decoder.raw_decode(document, at)
        at = _next(document, _next(document, at) + 1)
        found = at if name == "Statement" else found
        at = _next(document, decoder.raw_decode(document, at)[1])
        if document[at] == ",":
            at = _next(document, at + 1)
    return found


def _next(document: str, at: int) -> int:
    while document[at] in " \t\r\n":
        at += 1
    return at


def _position(document: str, at: int) -> TextPosition:
    before = document[:at]
    return TextPosition(before.count("\n") + 1, at - before.rfind("\n"))
