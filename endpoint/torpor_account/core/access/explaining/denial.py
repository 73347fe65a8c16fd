"""What a denial was made of, as a value that can be kept and shown: no secrets, and of bounded size."""

from torpor_account.core.access.evaluation import AccessDecision, PolicySource, decide
from torpor_account.core.access.explaining.statements import looked_at, recording, verdict
from torpor_account.core.access.policy_statements import AccessPolicy, AccessQuestion
from torpor_account.core.access.principals import Principal
from torpor_container.frozen_class import frozen

TEXT_MAX = 512
"""The most characters of one text in a denial: callers choose the names of models and sessions."""
LISTED_MAX = 32
"""The most policies and the most condition keys in a denial."""

HIDDEN = frozenset(("aws:referer", "sts:externalid"))
"""The condition keys whose values some policies use like a password."""
HIDDEN_VALUE = "(not kept)"


@frozen
class PolicyLookedAt:
    """One policy that had a say. `kind` is where it stands, and `says` what it says about the request."""

    policy: str
    kind: str
    says: str


@frozen
class ContextKey:
    """A condition key that a policy asked for. It has no values if the request lacks it."""

    key: str
    values: tuple[str, ...]


@frozen
class Denial:
    """One refusal. `resource` is None where the call does not name it. `why` names the statement that denied, if one
    did. `at_s` is in epoch seconds, `request_id` is the one that the caller saw."""

    caller: str
    action: str
    resource: str | None
    message: str
    why: str
    policies: tuple[PolicyLookedAt, ...]
    keys: tuple[ContextKey, ...]
    request_id: str = ""
    at_s: float = 0.0


def denial(
    principal: Principal,
    question: AccessQuestion,
    decision: AccessDecision,
    message: str,
    resource_policy: AccessPolicy | None = None,
    kind: PolicySource = PolicySource.RESOURCE,
) -> Denial:
    """What the decision was made of. It decides once more, to see which condition keys that takes.

    `kind` is that of `resource_policy`: TRUST for the trust policy of a role.
    """
    seen: dict[str, tuple[str, ...]] = {}
    noted = question._replace(lookup=recording(question.lookup, seen))
    decide(principal, noted, resource_policy)
    found = [
        PolicyLookedAt(_short(policy.name), source.plain, _short(verdict(principal, policy, noted)))
        for source, policy in looked_at(principal, resource_policy, kind)
    ]
    return Denial(
        caller=_short(principal.arn or "anonymous"),
        action=_short(question.action),
        resource=None if question.resource is None else _short(question.resource),
        message=_short(message),
        why=_short(decision.why),
        policies=tuple(found[:LISTED_MAX]),
        keys=tuple(_key(name, seen[name]) for name in sorted(seen)[:LISTED_MAX]),
    )


def _key(name: str, values: tuple[str, ...]) -> ContextKey:
    if name in HIDDEN and values:
        return ContextKey(name, (HIDDEN_VALUE,))
    return ContextKey(name, tuple(map(_short, values[:LISTED_MAX])))


def _short(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"
