"""Decides whether a caller may do something, and says which statement decided.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html, for one account.
"""

from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import NamedTuple

from torpor_account.core.access.policy_statements import (
    ANYONE,
    AccessPolicy,
    AccessQuestion,
    AccessStatement,
    PolicyPrincipals,
)
from torpor_account.core.access.principals import Principal, PrincipalKind


class PolicySource(Enum):
    """Where a policy stands: IAM's words in a text for an explicit deny, and in one for an implicit deny."""

    IDENTITY = ("an identity-based policy", "identity-based policy")
    BOUNDARY = ("a permissions boundary", "permissions boundary")
    SESSION = ("a sessions policy", "session policy")
    RESOURCE = ("a resource-based policy", "resource-based policy")
    TRUST = ("the role trust policy", "role trust policy")

    @property
    def with_article(self) -> str:
        return self.value[0]

    @property
    def plain(self) -> str:
        return self.value[1]


class AccessDecision(NamedTuple):
    """Whether the caller may, and why. Without a statement nothing allows it, or the caller is root."""

    allowed: bool
    source: PolicySource | None = None
    policy: str = ""
    statement: AccessStatement | None = None

    @property
    def why(self) -> str:
        """For a log: the statement that decided."""
        if self.statement is not None and self.source is not None:
            verb = "allows" if self.allowed else "denies"
            return f"{self.statement.label} of {self.policy} ({self.source.plain}) {verb} it"
        if self.allowed:
            return "the caller is the account's root"
        return f"no {self.source.plain if self.source else 'policy'} allows it"


class GrantTo(IntEnum):
    """To whom a statement of a resource's policy speaks, from the least to the most direct."""

    NOBODY = 0
    ACCOUNT = 1  # it lets the account's own policies decide
    ROLE = 2  # and everyone: limited by boundary and session policy
    SELF = 3  # the user or the role session by its own ARN: not limited by what they leave out


KEPT_BY_ROOT = frozenset(("s3:getbucketpolicy", "s3:putbucketpolicy", "s3:deletebucketpolicy"))
"""What no bucket policy can deny to the account's root: else nobody could repair the policy."""


def decide(
    principal: Principal, question: AccessQuestion, resource_policy: AccessPolicy | None = None
) -> AccessDecision:
    """Whether the caller may. `resource_policy` is the policy of the resource, such as a bucket's."""
    denied = _denied(principal, question, resource_policy)
    if denied is not None:
        return denied
    if principal.kind is PrincipalKind.ROOT:
        return AccessDecision(True)
    grant, granting = _grant(principal, question, resource_policy)
    if granting is not None and grant is GrantTo.SELF:
        return granting
    allowing = _first(principal.identity, question, PolicySource.IDENTITY, denies=False)
    if allowing is None and grant is GrantTo.ROLE:
        allowing = granting
    if allowing is None:
        return AccessDecision(False, PolicySource.IDENTITY)
    if principal.boundary is not None and not _first(
        (principal.boundary,), question, PolicySource.BOUNDARY, denies=False
    ):
        return AccessDecision(False, PolicySource.BOUNDARY)
    if principal.session is not None and not _first(principal.session, question, PolicySource.SESSION, denies=False):
        return AccessDecision(False, PolicySource.SESSION)
    return allowing


def decide_trust(principal: Principal, question: AccessQuestion, trust: AccessPolicy) -> AccessDecision:
    """Whether the caller may assume the role of this trust policy, which must allow it by itself.

    Where it names only the account, the caller's own policies must allow it too.
    """
    decision = decide(principal, question, trust)
    if decision.source is PolicySource.RESOURCE:
        return decision._replace(source=PolicySource.TRUST)
    if decision.allowed and _grant(principal, question, trust)[0] is GrantTo.NOBODY:
        return AccessDecision(False, PolicySource.TRUST)
    return decision


def decide_service_trust(service: str, question: AccessQuestion, trust: AccessPolicy) -> AccessDecision:
    """Whether a service of AWS, such as `sagemaker.amazonaws.com`, may assume the role of this trust policy."""
    for denies in (True, False):
        for statement in trust.statements:
            speaks = _speaks_to_service(statement.principals, service)
            if statement.denies is denies and speaks and applies(statement, question):
                return AccessDecision(not denies, PolicySource.TRUST, trust.name, statement)
    return AccessDecision(False, PolicySource.TRUST)


def denial_text(principal: Principal, question: AccessQuestion, decision: AccessDecision) -> str:
    """The denial in IAM's words.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
    """
    who = principal.arn or "anonymous"
    text = f"User: {who} is not authorized to perform: {question.action}"
    if question.resource is not None:
        text += f" on resource: {question.resource}"
    source = decision.source or PolicySource.IDENTITY
    if decision.statement is not None:
        return f"{text} with an explicit deny in {source.with_article}"
    return f"{text} because no {source.plain} allows the {question.action} action"


def _denied(
    principal: Principal, question: AccessQuestion, resource_policy: AccessPolicy | None
) -> AccessDecision | None:
    """An explicit deny, which wins over everything."""
    is_root = principal.kind is PrincipalKind.ROOT
    if resource_policy is not None and not (is_root and question.action.lower() in KEPT_BY_ROOT):
        for statement in resource_policy.statements:
            if statement.denies and speaks_to(statement.principals, principal) and applies(statement, question):
                return AccessDecision(False, PolicySource.RESOURCE, resource_policy.name, statement)
    if is_root:
        return None
    boundary = () if principal.boundary is None else (principal.boundary,)
    return (
        _first(principal.identity, question, PolicySource.IDENTITY, denies=True)
        or _first(boundary, question, PolicySource.BOUNDARY, denies=True)
        or _first(principal.session or (), question, PolicySource.SESSION, denies=True)
    )


def _first(
    policies: Iterable[AccessPolicy], question: AccessQuestion, source: PolicySource, *, denies: bool
) -> AccessDecision | None:
    for policy in policies:
        for statement in policy.statements:
            if statement.denies is denies and applies(statement, question):
                return AccessDecision(not denies, source, policy.name, statement)
    return None


def applies(statement: AccessStatement, question: AccessQuestion) -> bool:
    """Whether the statement is about this action on this resource, in these circumstances."""
    return statement.concerns(question.action) and statement.holds(question)


def _grant(
    principal: Principal, question: AccessQuestion, policy: AccessPolicy | None
) -> tuple[GrantTo, AccessDecision | None]:
    """The most direct grant of a resource's policy."""
    found: tuple[GrantTo, AccessDecision | None] = (GrantTo.NOBODY, None)
    if policy is None:
        return found
    for statement in policy.statements:
        grant = speaks_to(statement.principals, principal)
        if not statement.denies and grant > found[0] and applies(statement, question):
            found = grant, AccessDecision(True, PolicySource.RESOURCE, policy.name, statement)
    return found


def speaks_to(principals: PolicyPrincipals | None, principal: Principal) -> GrantTo:
    """To whom of the caller's names a statement speaks. NotPrincipal speaks to all that it does not name."""
    if principals is None:
        return GrantTo.NOBODY
    named, is_anonymous = principals.of_aws, principal.kind is PrincipalKind.ANONYMOUS
    itself = not is_anonymous and principals.has(principal.arn, principal.unique_id)
    by_role = bool(principal.role) and principals.has(principal.role, principal.unique_id.partition(":")[0])
    if principals.negated:
        return GrantTo.NOBODY if ANYONE in named or itself or by_role else GrantTo.ROLE
    if itself:
        return GrantTo.SELF
    if by_role:
        return GrantTo.ROLE
    if ANYONE in named:
        return GrantTo.ROLE
    accounts = (principal.account, f"arn:aws:iam::{principal.account}:root")
    return GrantTo.ACCOUNT if not is_anonymous and any(one in named for one in accounts) else GrantTo.NOBODY


def _speaks_to_service(principals: PolicyPrincipals | None, service: str) -> bool:
    """`"Principal": "*"` speaks to services too."""
    if principals is None:
        return False
    named = service in principals.named.get("Service", ()) or ANYONE in principals.of_aws
    return named is not principals.negated
