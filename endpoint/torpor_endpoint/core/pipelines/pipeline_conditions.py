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
    """Whether all conditions hold. Raises BadExpression for one that Torpor does not understand, or values that cannot
    be compared."""
    return all(tuple(_holds(one, _compared) for one in conditions))  # each one is read: a bad one raises


def check_conditions(conditions: Sequence[Any]) -> None:
    """Raises BadExpression for a condition that Torpor does not understand, whatever its values will be."""
    for one in conditions:
        _holds(one, lambda kind, left, right: False)


def _holds(condition: Any, compared: Callable[[str, Any, Any], bool]) -> bool:
    match condition:
        case {"Type": str(kind), "LeftValue": left, "RightValue": right, **more} if kind in COMPARISONS and not more:
            return compared(kind, left, right)
        case {"Type": "In", "QueryValue": value, "Values": list(values), **more} if not more:
            return value in values
        case {"Type": "Not", "Condition": inner, **more} if not more:
            return not _holds(inner, compared)
        case {"Type": "Or", "Conditions": list(inner), **more} if not more:
            return any(tuple(_holds(one, compared) for one in inner))
    named = condition.get("Type") if isinstance(condition, Mapping) else condition
    raise BadExpression(f"the condition {named} is not supported by Torpor, or lacks a member, or has one too many.")


def _compared(kind: str, left: Any, right: Any) -> bool:
    try:
        return COMPARISONS[kind](left, right)
    except TypeError:
        raise BadExpression(f"{kind} cannot compare {left!r} with {right!r}.") from None
