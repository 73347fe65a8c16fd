"""The conditions of a Condition step, over values that are resolved."""

from collections.abc import Callable, Mapping, Sequence
from operator import eq, ge, gt, le, lt
from typing import Any, Final

from torpor_endpoint.core.pipelines.pipeline_values import BadExpression

COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "Equals": eq,
    "GreaterThan": gt,
    "GreaterThanOrEqualTo": ge,
    "LessThan": lt,
    "LessThanOrEqualTo": le,
}


def all_hold(conditions: Sequence[Any]) -> bool:
    """Whether all conditions hold. Raises BadExpression for one that Torpor does not understand."""
    return all(list(map(_holds, conditions)))  # each is looked at: a bad one is told of


def _holds(condition: Any) -> bool:
    match condition:
        case {"Type": str(kind), "LeftValue": left, "RightValue": right} if kind in COMPARISONS:
            try:
                return bool(COMPARISONS[kind](left, right))
            except TypeError:
                raise BadExpression(f"{kind} cannot compare {left!r} with {right!r}.") from None
        case {"Type": "In", "QueryValue": value, "Values": list(values)}:
            return value in values
        case {"Type": "Not", "Condition": inner}:
            return not _holds(inner)
        case {"Type": "Or", "Conditions": list(inner)}:
            return any(list(map(_holds, inner)))
    named = condition.get("Type") if isinstance(condition, Mapping) else condition
    raise BadExpression(f"The condition {named} is not supported by Torpor, or lacks a member.")
