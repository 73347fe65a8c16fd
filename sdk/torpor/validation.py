"""What kind of value a field or an argument is to be: in words for who gives another one, and as a test."""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from numbers import Integral, Real
from reprlib import repr as shortened
from typing import Any, NamedTuple

import numpy as np


class ValueRule(NamedTuple):
    told: str
    kept: Callable[[Any], bool]


Kind = tuple[ValueRule, ...]
"""One rule after the other: first what kind of value it is, since the others compare it."""


def wrong(name: str, value: object, kind: Kind) -> str:
    """The first rule that the value breaks, with both: `idle_s is more than 0, not 0`. Empty if it keeps them all."""
    broken = next((rule.told for rule in kind if not rule.kept(value)), None)
    return "" if broken is None else f"{name} {broken}, not {_shown(value)}"


def check(error: type[Exception], kinds: Mapping[str, Kind], values: Mapping[str, object]) -> None:
    """Raises the error for the first of the values that is not of its kind. What has no kind may be anything."""
    for name, kind in kinds.items():
        if name in values and (told := wrong(name, values[name], kind)):
            raise error(told)


def optional(kind: Kind) -> Kind:
    """Or None."""
    return tuple(ValueRule(rule.told, _or_none(rule.kept)) for rule in kind)


def whole(least: int) -> Kind:
    return WHOLE, ValueRule(f"is {least} or more", lambda value: value >= least)


def one_of(known: Collection[str], told: str = "") -> Kind:
    return (
        ValueRule(told or f"is one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known),
    )


def one_of_in_any_case(known: Collection[str]) -> Kind:
    return (
        ValueRule(f"is one of {', '.join(known)}", lambda value: isinstance(value, str) and value.upper() in known),
    )


def several(example: str) -> Kind:
    """A list, for which people also give the one thing that would be in it."""
    told = f"is a list, as {example}"
    return (ValueRule(told, lambda value: isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)),)


def a(kind: type, told: str) -> Kind:
    return (ValueRule(told, lambda value: isinstance(value, kind)),)


def _is_real(value: object) -> bool:
    """What is true or false is no number, though Python counts with it."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value: object) -> str:
    """In one line, and not all of a table."""
    return str(value) if _is_real(value) else " ".join(shortened(value).split())


def _or_none(kept: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or kept(value)


WHOLE = ValueRule("is a whole number", lambda value: isinstance(value, Integral) and not isinstance(value, bool))
NUMBER = ValueRule("is a number", _is_real)

COUNT = whole(1)
AMOUNT = (NUMBER, ValueRule("is 0 or more", lambda value: 0 <= value < inf))
MORE = (NUMBER, ValueRule("is more than 0", lambda value: 0 < value < inf))
ROOM = (NUMBER, ValueRule("is 1 or more", lambda value: 1 <= value < inf))
BYTES = (NUMBER, ValueRule("is 0 or more, and less than 2^63", lambda value: 0 <= value < 2**63))
SLO = (NUMBER, ValueRule("is a number of seconds, more than 0", lambda value: 0 < value < inf))
SHARE = (NUMBER, ValueRule("is above 0 and below 1, as 0.99", lambda value: 0 < value < 1))
SWITCH = (ValueRule("is True or False", lambda value: isinstance(value, bool | np.bool_)),)
