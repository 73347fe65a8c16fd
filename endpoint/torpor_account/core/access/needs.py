"""What one call needs, as actions, resources and condition keys; and the access of a caller, which has it or not."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from torpor_account.core.access.evaluation import AccessDecision, PolicySource, decide, denial_text
from torpor_account.core.access.explaining.denial import Denial, denial
from torpor_account.core.access.policy_statements import AccessPolicy, AccessQuestion
from torpor_account.core.access.principals import Principal
from torpor_account.core.access.text_patterns import UNKNOWN, Lookup
from torpor_container.frozen_class import frozen

ConditionKeys = Mapping[str, Sequence[str]]
"""The values of condition keys, by their names in lower case."""


class TagsOf(NamedTuple):
    """How the ARNs begin of the resources that have a key for each of their tags, and the actions on them."""

    of_arns: str
    of_actions: str


RESOURCE_TAGS = {
    "aws:resourcetag/": TagsOf("arn:aws:", ""),
    "sagemaker:resourcetag/": TagsOf("arn:aws:", "sagemaker:"),
    "iam:resourcetag/": TagsOf("arn:aws:iam:", "iam:"),
}
"""By how the keys of a resource's tags begin."""

CIRCUMSTANTIAL = ("aws:", "sagemaker:resourcetag/")
"""How the keys begin whose values depend on more than the caller and what it asks for."""

NO_KEYS: ConditionKeys = MappingProxyType({})


class AccessNeed(NamedTuple):
    """One thing that a call needs. `resource` is None if the call does not name it in a known way (`AccessQuestion`).

    Any of the actions will do, and a Deny of any of them denies: AWS's documents name several for a few operations. The
    same holds for the resource and the `aliases`, which are other spellings of its ARN.
    """

    actions: tuple[str, ...]
    resource: str | None
    keys: ConditionKeys = NO_KEYS
    aliases: tuple[str, ...] = ()


BoundaryOf = Callable[[str, str], str | None]
"""Takes `role` or `user` and a name; returns the ARN of its permissions boundary, or None."""


def no_boundary(kind: str, name: str) -> str | None:
    return None


PathOf = Callable[[str, str], str]
"""Takes a kind (role, user, group or policy) and a name; returns the IAM path of the one of this name, or a slash."""


def no_path(kind: str, name: str) -> str:
    return "/"


class AccessPlace(NamedTuple):
    """The account and the region of a call, for its ARNs. `user` is the calling user, whom some calls leave out."""

    account: str
    region: str
    user: str = ""
    path_of: PathOf = no_path
    boundary_of: BoundaryOf = no_boundary

    def arn(self, service: str, name: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.account}:{name}"


class AccessRefused(Exception):
    """The caller may not do what it asks for. The message is in IAM's words; `why` names the statement that decided."""

    def __init__(self, message: str, why: str) -> None:
        super().__init__(message)
        self.message = message
        self.why = why


def no_values(key: str) -> Sequence[str] | None:
    return None


def no_tags(arn: str) -> Mapping[str, str]:
    return {}


@frozen
class CallerAccess:
    """A verified caller, in the circumstances of one request.

    `of_caller` has the condition keys of the principal, `of_request` looks up those of the request, and `tags_of` the
    tags of a resource by its ARN; None where nobody here knows them.
    """

    principal: Principal
    place: AccessPlace
    of_caller: ConditionKeys = field(default_factory=lambda: NO_KEYS)
    of_request: Lookup = no_values
    now_s: float = 0.0
    tags_of: Callable[[str], Mapping[str, str] | None] = no_tags
    circumstances: set[str] = field(default_factory=set)
    """The condition keys that were looked up and that another request of this caller may have with another value."""
    denials: list[Denial] = field(default_factory=list)
    """What was refused in this request."""

    def decide(self, need: AccessNeed, resource_policy: AccessPolicy | None = None) -> AccessDecision:
        """The decision, by the most severe of the actions that would do."""
        found = [decide(self.principal, question, resource_policy) for question in self.questions(need)]
        denied = next((one for one in found if not one.allowed and one.statement is not None), None)
        return denied or next((one for one in found if one.allowed), found[0])

    def check(self, needs: Iterable[AccessNeed], resource_policy: AccessPolicy | None = None) -> None:
        """Raises AccessRefused for the first thing that the caller may not do."""
        for need in needs:
            decision = self.decide(need, resource_policy)
            if not decision.allowed:
                raise self.refused(self.questions(need)[0], decision, resource_policy)

    def refused(
        self,
        question: AccessQuestion,
        decision: AccessDecision,
        policy: AccessPolicy | None = None,
        kind: PolicySource = PolicySource.RESOURCE,
    ) -> AccessRefused:
        """The refusal of a decision. What it is made of is noted in `denials`.

        `policy` is the resource's, of this kind.
        """
        text = denial_text(self.principal, question, decision)
        self.denials.append(denial(self.principal, question, decision, text, policy, kind))
        return AccessRefused(text, decision.why)

    def questions(self, need: AccessNeed) -> list[AccessQuestion]:
        """One question for each action, on each spelling of the resource."""
        own, request, mine = need.keys, self.of_request, self.of_caller

        def lookup(key: str) -> Sequence[str] | None:
            found = own.get(key) or mine.get(key)
            if found is not None:
                return found
            if key.startswith(CIRCUMSTANTIAL):
                self.circumstances.add(key)
            found = request(key)
            return self._further(key, need) if found is None else found

        resources = (need.resource, *need.aliases)
        return [AccessQuestion(action, resource, lookup) for action in need.actions for resource in resources]

    def _further(self, key: str, need: AccessNeed) -> Sequence[str] | None:
        """The values of keys that few policies ask for."""
        if key == "aws:currenttime":
            return (datetime.fromtimestamp(self.now_s, UTC).isoformat(timespec="seconds"),)
        if key == "aws:epochtime":
            return (str(int(self.now_s)),)
        if key in ("aws:resourceaccount", "s3:resourceaccount"):
            return (self.place.account,)
        prefix = next((one for one in RESOURCE_TAGS if key.startswith(one)), None)
        if prefix is None:
            return None
        if need.resource is None:
            return UNKNOWN if need.actions[0].startswith(RESOURCE_TAGS[prefix].of_actions) else None
        if not need.resource.startswith(RESOURCE_TAGS[prefix].of_arns):
            return None
        tags = self.tags_of(need.resource)
        if tags is None:
            return UNKNOWN
        name = key.removeprefix(prefix)  # a key in two spellings has both values
        return tuple(value for tag, value in tags.items() if tag.lower() == name) or None
