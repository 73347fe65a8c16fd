"""What a request needs of the model that answers it, and how it says so.

A request that names a group says it in CustomAttributes, as pairs with commas between them:

    latency_ms=20, min_accuracy=0.9, max_cost=0.0001, rows=32, nearest=true

Each may be absent. Nothing else is understood there, and what is not understood is refused.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, Final, NamedTuple

from torpor_account.core.written_numbers import decimal_of
from torpor_container.frozen_class import frozen

ROWS_MAX: Final = 10**9


class BadNeed(ValueError):
    """The text does not say a need. The message names the attribute, and says what is understood."""


@frozen
class StatedNeed:
    """`max_cost` is in dollars for one request. `rows`: how many rows it has; None if it does not say. With `nearest`
    the model that misses the need by the least answers where none meets it."""

    latency_ms: float | None = None
    min_accuracy: float | None = None
    max_cost: float | None = None
    rows: int | None = None
    nearest: bool = False


class NeedAttribute(NamedTuple):
    read: Callable[[str], float | int | bool]
    rule: str


def _positive(text: str) -> float:
    value = decimal_of(text)
    if not isfinite(value) or value <= 0:
        raise ValueError
    return value


def _share(text: str) -> float:
    value = decimal_of(text)
    if not 0 <= value <= 1:
        raise ValueError
    return value


def _rows(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= value <= ROWS_MAX:
        raise ValueError
    return value


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text]


ATTRIBUTES: Final[dict[str, NeedAttribute]] = {
    "latency_ms": NeedAttribute(_positive, "milliseconds, more than 0"),
    "min_accuracy": NeedAttribute(_share, "a number from 0 to 1"),
    "max_cost": NeedAttribute(_positive, "dollars for one request, more than 0"),
    "rows": NeedAttribute(_rows, f"a whole number from 1 to {ROWS_MAX}"),
    "nearest": NeedAttribute(_flag, "true or false"),
}


def read_need(attributes: str) -> StatedNeed:
    """The need that a request's CustomAttributes say. Raises BadNeed."""
    found: dict[str, Any] = {}
    for pair in attributes.split(",") if attributes.strip() else ():
        name, equals, text = (part.strip() for part in pair.partition("="))
        attribute = ATTRIBUTES.get(name)
        if attribute is None or not equals:
            raise BadNeed(f"{pair.strip()!r} is not understood: a request to a group takes {', '.join(ATTRIBUTES)}")
        if name in found:
            raise BadNeed(f"{name} is there twice")
        try:
            found[name] = attribute.read(text)
        except (ValueError, KeyError):
            raise BadNeed(f"{name}={text} must be {attribute.rule}") from None
    return StatedNeed(**found)
