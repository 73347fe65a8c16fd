"""Says whether a record meets conditions on its properties, as SageMaker's Search has them.

Source: botocore's texts of Filter, NestedFilters and SearchExpression. A property that a record lacks meets
NotEquals and NotExists alone: each is the opposite of the operator without Not.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from torpor_endpoint.core.search.record_property import PropertyType, RecordProperty, number_of, values_at

EQUALS, EXISTS, NOT_EXISTS = "Equals", "Exists", "NotExists"
CONTAINS, IN = "Contains", "In"
ORDERED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "GreaterThan": operator.gt,
    "GreaterThanOrEqualTo": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqualTo": operator.le,
}
OF_TEXT: Final = (CONTAINS, IN)
TEXTS: Final = (PropertyType.TEXT, PropertyType.WRITTEN_NUMBER)
UNORDERED: Final = (PropertyType.TEXT, PropertyType.BOOLEAN)


class BadCondition(Exception):
    """A condition that cannot be asked. The text names the property and says what to do."""


@dataclass(frozen=True)
class Condition:
    """One comparison of a property with a value. `value` is of the property's type; for In, a tuple of texts."""

    property: RecordProperty
    operator: str
    value: Any = None

    def holds(self, record: Any) -> bool:
        match self.operator:
            case "NotEquals":
                return not self._any(record, operator.eq)
            case "NotExists":
                return not any(True for _ in self.property.of(record))
            case "Exists":
                return any(True for _ in self.property.of(record))
            case "Contains":
                return any(self.value in value for value in self.property.of(record))
            case "In":
                return any(value in self.value for value in self.property.of(record))
        return self._any(record, ORDERED.get(self.operator, operator.eq))

    def _any(self, record: Any, compare: Callable[[Any, Any], bool]) -> bool:
        return any(
            compare(value, self.value) for value in map(self._comparable, self.property.of(record)) if value is not None
        )

    def _comparable(self, value: Any) -> Any:
        """The record's value as it is compared; None for one that cannot be. AWS: a decimal hyperparameter is treated
        as an integer if the value that it is compared with is one."""
        if self.property.type is not PropertyType.WRITTEN_NUMBER or isinstance(self.value, str):
            return value
        number = number_of(value)
        return int(number) if number is not None and isinstance(self.value, int) else number


@dataclass(frozen=True)
class NestedCondition:
    """All conditions on one item of a list. The steps of their properties begin at the item."""

    steps: tuple[str, ...]
    conditions: tuple[Condition, ...]

    def holds(self, record: Any) -> bool:
        return any(all(one.holds(item) for one in self.conditions) for item in values_at(record, self.steps))


@dataclass(frozen=True)
class SearchExpression:
    """Conditions and expressions of which all must hold, or one. There is one at least."""

    parts: "tuple[Condition | NestedCondition | SearchExpression, ...]"
    all_of: bool = True

    def holds(self, record: Any) -> bool:
        held = (one.holds(record) for one in self.parts)
        return all(held) if self.all_of else any(held)


def condition(property: RecordProperty, asked: str | None, text: str | None) -> Condition:
    """The condition with this operator, by default Equals, and this value. Raises BadCondition."""
    asked = asked or EQUALS
    if asked in (EXISTS, NOT_EXISTS):
        return Condition(property, asked)
    name, type = property.name, property.type
    if text is None:
        raise BadCondition(f"Filter '{name}' with operator {asked} needs a Value.")
    if type is PropertyType.WHOLE:
        raise BadCondition(f"'{name}' has properties of its own: name one of them, or ask whether it Exists.")
    if asked in OF_TEXT:
        if type not in TEXTS:
            raise BadCondition(f"{asked} is for text properties, and '{name}' is none.")
        return Condition(property, asked, tuple(one.strip() for one in text.split(",")) if asked == IN else text)
    if asked in ORDERED and type in UNORDERED:
        raise BadCondition(f"{asked} is for numbers and times, and '{name}' is neither.")
    value = _value(property, text)
    if asked in ORDERED and isinstance(value, str):
        raise BadCondition(f"{asked} needs a number as Value, and '{text}' for '{name}' is none.")
    return Condition(property, asked, value)


def _value(property: RecordProperty, text: str) -> Any:
    """The text as the property's type. Raises BadCondition."""
    match property.type:
        case PropertyType.TEXT:
            return text
        case PropertyType.WRITTEN_NUMBER:
            number = number_of(text)
            return text if number is None else number
        case PropertyType.NUMBER:
            if (number := number_of(text)) is None:
                raise BadCondition(f"'{property.name}' is a number, and Value '{text}' is none.")
            return number
        case PropertyType.TIME:
            return _time_s(property.name, text)
    if text.lower() not in ("true", "false"):
        raise BadCondition(f"'{property.name}' is true or false, and Value '{text}' is neither.")
    return text.lower() == "true"


def _time_s(name: str, text: str) -> float:
    """A time without a zone is in UTC."""
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise BadCondition(f"'{name}' is a time, and Value '{text}' is not like 2026-01-31T12:00:00.") from None
