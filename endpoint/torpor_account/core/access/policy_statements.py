"""Reads policy documents into statements that can be evaluated.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements.html
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, NamedTuple

from torpor_account.core.access.conditions import BadPolicy, ConditionTest, condition_test
from torpor_account.core.access.text_patterns import Lookup, TextPattern
from torpor_container.frozen_class import frozen

NEW_VERSION = "2012-10-17"
VERSIONS = ("2008-10-17", NEW_VERSION)
"""Policy variables are replaced in documents of the new version only."""

ANYONE = "*"

ACTION = re.compile(r"\*(?::\*)?|[A-Za-z0-9-]+:[\w*?-]+", re.ASCII)
"""AWS: `*`, or the name of a service, in which no wildcard may stand, and that of an operation."""
RESOURCE = re.compile(r"\*|arn:(?:aws\*?|\*):[a-z0-9-]+:.+", re.DOTALL)
"""AWS: `*`, or an ARN: "You cannot use a wildcard in the service segment"."""
PRINCIPAL_KINDS = ("AWS", "CanonicalUser", "Federated", "Service")

NO_IDS: Mapping[str, str] = MappingProxyType({})

_KEYS = frozenset(
    ("Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition")
)


class AccessQuestion(NamedTuple):
    """What a caller wants to do. `resource` is an ARN, or `*` for an action without one.

    None stands for a resource that the request does not name in a known way: only a statement for all resources allows
    it, and a Deny for any resource denies it.
    """

    action: str
    resource: str | None
    lookup: Lookup


@frozen
class PolicyElement:
    """Action and NotAction, or Resource and NotResource. `negated`: everything but the patterns."""

    patterns: tuple[TextPattern, ...]
    texts: tuple[str, ...]
    negated: bool = False

    def has(self, text: str, lookup: Lookup) -> bool:
        return any(pattern.has(text, lookup) for pattern in self.patterns) is not self.negated

    @property
    def is_everything(self) -> bool:
        return not self.negated and ANYONE in self.texts


@frozen
class PolicyPrincipals:
    """Principal or NotPrincipal of a resource's policy: ARNs and account numbers by kind, such as `AWS`.

    `ids` has the unique ids of the users and roles that the ARNs named when the policy was stored.
    """

    named: Mapping[str, tuple[str, ...]]
    negated: bool = False
    ids: Mapping[str, str] = field(default_factory=lambda: NO_IDS)

    def has(self, arn: str, unique_id: str) -> bool:
        """Whether it names this one, and not one of the same name that is gone."""
        return arn in self.of_aws and self.ids.get(arn, unique_id) == unique_id

    @property
    def of_aws(self) -> tuple[str, ...]:
        return self.named.get("AWS", ())


@frozen
class AccessStatement:
    """One statement. `number` counts from 1 in its document."""

    number: int
    sid: str
    denies: bool
    actions: PolicyElement
    resources: PolicyElement | None
    conditions: tuple[ConditionTest, ...]
    principals: PolicyPrincipals | None = None

    @property
    def label(self) -> str:
        return f'statement "{self.sid}"' if self.sid else f"statement {self.number}"

    def concerns(self, action: str) -> bool:
        """Whether the action is one of the statement's. Names of actions are compared without regard to case."""
        return self.actions.has(action.lower(), _nothing)

    def holds(self, question: AccessQuestion) -> bool:
        """Whether resource and conditions hold, for an action that the statement concerns."""
        if self.resources is not None:
            if question.resource is None:
                if not (self.denies or self.resources.is_everything):
                    return False
            elif not self.resources.has(question.resource, question.lookup):
                return False
        return all(condition.holds(question.lookup, unknown=self.denies) for condition in self.conditions)


class PolicyOrigin(NamedTuple):
    """Where a policy was found, in the words of IAM's simulations: its own name, and the kind of what holds it."""

    policy: str = ""
    kind: str = "none"


NO_ORIGIN = PolicyOrigin()


@frozen
class AccessPolicy:
    """A policy document that was read. `name` is for texts, and `document` what was read.

    `variables` says whether policy variables are replaced in it.
    """

    name: str
    statements: tuple[AccessStatement, ...]
    document: str = ""
    variables: bool = False
    origin: PolicyOrigin = NO_ORIGIN


def read_policy(
    document: str,
    name: str,
    *,
    kind: str = "identity",
    origin: PolicyOrigin = NO_ORIGIN,
    ids: Mapping[str, str] = NO_IDS,
) -> AccessPolicy:
    """Reads a document. `kind` is `identity`, `resource` (with principals) or `trust` (and without resources).

    `ids` are those of its principals. Raises BadPolicy.
    """
    try:
        policy = json.loads(document)
    except (ValueError, RecursionError):
        raise BadPolicy("it is no JSON") from None
    if not isinstance(policy, dict):
        raise BadPolicy("it is no JSON object")
    version = policy.get("Version", VERSIONS[0])
    if version not in VERSIONS:
        raise BadPolicy(f"Version must be one of {', '.join(VERSIONS)}")
    found = policy.get("Statement")
    statements: list[Any] = found if isinstance(found, list) else [found]
    if not statements or not all(isinstance(statement, dict) for statement in statements):
        raise BadPolicy("Statement must be an object, or a list of objects")
    variables = version == NEW_VERSION
    read = [_statement(number, one, variables, kind, ids) for number, one in enumerate(statements, start=1)]
    return AccessPolicy(name, tuple(read), document, variables, origin)


def denying_all(name: str) -> AccessPolicy:
    """What stands for a stored document that cannot be read: it may have held a Deny."""
    everything = PolicyElement((TextPattern.parsed(ANYONE, variables=False),), (ANYONE,))
    anyone = PolicyPrincipals({"AWS": (ANYONE,)})
    return AccessPolicy(name, (AccessStatement(1, "", True, everything, None, (), anyone),))


def _statement(
    number: int, given: Mapping[str, Any], variables: bool, kind: str, ids: Mapping[str, str]
) -> AccessStatement:
    unknown = sorted(given.keys() - _KEYS)
    if unknown:
        raise BadPolicy(f"statement {number} has the unknown element {unknown[0]}")
    if given.get("Effect") not in ("Allow", "Deny"):
        raise BadPolicy(f"statement {number}: Effect must be Allow or Deny")
    actions = _element(number, given, "Action", ACTION, lambda text: TextPattern.parsed(text.lower(), variables=False))
    resources = _element(
        number, given, "Resource", RESOURCE, lambda text: TextPattern.parsed(text, variables=variables)
    )
    principals = _principals(number, given, ids)
    if actions is None:
        raise BadPolicy(f"statement {number} needs Action or NotAction")
    if (resources is None) is not (kind == "trust"):
        must = "needs Resource or NotResource" if resources is None else "must not have Resource"
        raise BadPolicy(f"statement {number} {must}")
    if (principals is None) is not (kind == "identity"):
        must = "needs Principal" if principals is None else "must not have Principal"
        raise BadPolicy(f"statement {number} {must}")
    return AccessStatement(
        number,
        str(given.get("Sid", "")),
        given["Effect"] == "Deny",
        actions,
        resources,
        tuple(_conditions(number, given.get("Condition", {}), variables)),
        principals,
    )


def _element(
    number: int, given: Mapping[str, Any], name: str, form: re.Pattern[str], parsed: Callable[[str], TextPattern]
) -> PolicyElement | None:
    present = [key for key in (name, f"Not{name}") if key in given]
    if len(present) > 1:
        raise BadPolicy(f"statement {number} has both {name} and Not{name}")
    if not present:
        return None
    texts = _texts(number, present[0], given[present[0]])
    wrong = next((text for text in texts if not form.fullmatch(text)), None)
    if wrong is not None:
        must = {"Action": "* or service:Operation", "Resource": "* or an ARN of this partition"}[name]
        raise BadPolicy(f"statement {number}: {wrong} must be {must}, without a wildcard in the name of the service")
    return PolicyElement(tuple(map(parsed, texts)), texts, negated=present[0] != name)


def _principals(number: int, given: Mapping[str, Any], ids: Mapping[str, str]) -> PolicyPrincipals | None:
    present = [key for key in ("Principal", "NotPrincipal") if key in given]
    if len(present) > 1:
        raise BadPolicy(f"statement {number} has both Principal and NotPrincipal")
    if not present:
        return None
    value = given[present[0]]
    named = {"AWS": [ANYONE]} if value == ANYONE else value
    if not isinstance(named, dict) or not named:
        raise BadPolicy(f'statement {number}: {present[0]} must be "*" or an object such as {{"AWS": …}}')
    unknown = sorted(named.keys() - set(PRINCIPAL_KINDS))
    if unknown:
        raise BadPolicy(f"statement {number}: {unknown[0]} is none of the kinds of principals {PRINCIPAL_KINDS}")
    texts = {kind: _texts(number, present[0], one) for kind, one in named.items()}
    return PolicyPrincipals(texts, present[0] != "Principal", ids)


def _conditions(number: int, block: Any, variables: bool) -> list[ConditionTest]:
    if not isinstance(block, dict) or not all(isinstance(keys, dict) for keys in block.values()):
        raise BadPolicy(f"statement {number}: Condition must be an object of objects")
    found = []
    for operator, keys in block.items():
        for key, value in keys.items():
            values = _texts(number, f"Condition.{operator}.{key}", value, numbers=True)
            try:
                found.append(condition_test(operator, key, values, variables=variables))
            except BadPolicy as error:
                raise BadPolicy(f"statement {number}: {error}") from None
    return found


def _texts(number: int, element: str, value: Any, *, numbers: bool = False) -> tuple[str, ...]:
    values: Sequence[Any] = value if isinstance(value, list) else [value]
    kinds = (str, bool, int, float) if numbers else (str,)
    if not all(isinstance(one, kinds) for one in values) or (not values and not numbers):
        raise BadPolicy(f"statement {number}: {element} must be a text, or a list of texts")
    return tuple(str(one).lower() if isinstance(one, bool) else str(one) for one in values)


def _nothing(key: str) -> Sequence[str] | None:
    return None
