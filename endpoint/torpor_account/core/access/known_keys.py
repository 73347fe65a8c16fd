"""Checks policies for condition keys that no request ever has: `condition_keys` lists those that one can have.

A Deny whose condition needs a key that no request has would never deny, and an Allow that needs its absence would
always allow. AWS sets such a key, so the policy means something else there: it is refused, not ignored. The other way
round, a key that is not known gives nobody more than AWS does. Keys of services that are not here, and of identity
providers, come with no request here, on AWS either.
"""

from collections.abc import Container, Sequence

from torpor_account.core.access.condition_keys import SERVED, Presence, condition_key
from torpor_account.core.access.conditions import BadPolicy, ConditionTest
from torpor_account.core.access.policy_statements import ANYONE, AccessPolicy, AccessStatement


def check_condition_keys(policy: AccessPolicy, given: Container[str] = ()) -> None:
    """Raises BadPolicy for a condition that its caller would win since no request has its key.

    `given` are further keys, in lower case, that a simulated request has.
    """
    for statement in filter(_is_of_served, policy.statements):
        for condition in statement.conditions:
            unknown = condition.key not in given and not is_known(condition.key)
            if unknown and _wins(condition, denies=statement.denies):
                effect = "never deny" if statement.denies else "always allow"
                raise BadPolicy(
                    f"statement {statement.number} would {effect}: "
                    f"no request has the condition key {condition.spelled} here"
                )


def is_known(key: str) -> bool:
    """Whether requests have the key here when they have it on AWS. It is in lower case."""
    if key.partition(":")[0] not in SERVED | {"aws"}:
        return True
    found = condition_key(key)
    return found is not None and found.presence is not Presence.UNREAD


def _is_of_served(statement: AccessStatement) -> bool:
    """Whether it may speak of an action that is asked for here."""
    actions = statement.actions
    services = {text.partition(":")[0].lower() for text in actions.texts}
    return actions.negated or not services.isdisjoint(SERVED | {ANYONE})


def _wins(condition: ConditionTest, *, denies: bool) -> bool:
    return condition.holds(_nothing) is not denies


def _nothing(key: str) -> Sequence[str] | None:
    return None
