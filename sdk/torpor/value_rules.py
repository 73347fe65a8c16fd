"""Rules for the values of fields and arguments: each is a test, and words for the error message."""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from numbers import Integral, Real
from reprlib import repr as shortened
from typing import Any, NamedTuple

import numpy as np


class ValueRule(NamedTuple):
    """`words` follow the value's name in an error message: `is more than 0`."""

    words: str
    holds: Callable[[Any], bool]


Kind = tuple[ValueRule, ...]
"""Rules in their order: the first one checks the type, since the others compare the value."""


def wrong(name: str, value: object, kind: Kind) -> str:
    """The first rule that the value breaks, as `idle_s is more than 0, not 0`. Empty if it breaks none."""
    broken = next((rule.words for rule in kind if not rule.holds(value)), None)
    return "" if broken is None else f"{name} {broken}, not {_shown(value)}"


def check(error: type[Exception], kinds: Mapping[str, Kind], values: Mapping[str, object]) -> None:
    """Raises the error for the first value that breaks its rules. A value without rules may be anything."""
    for name, kind in kinds.items():
        if name in values and (message := wrong(name, values[name], kind)):
            raise error(message)


def optional(kind: Kind) -> Kind:
    """The same rules, or None."""
    return tuple(ValueRule(rule.words, _or_none(rule.holds)) for rule in kind)


def whole(least: int) -> Kind:
    return WHOLE, ValueRule(f"is {least} or more", lambda value: value >= least)


def one_of(known: Collection[str], words: str = "") -> Kind:
    return (
        ValueRule(words or f"is one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known),
    )


def one_of_in_any_case(known: Collection[str]) -> Kind:
    return (
        ValueRule(f"is one of {', '.join(known)}", lambda value: isinstance(value, str) and value.upper() in known),
    )


def several(example: str) -> Kind:
    """A list. People often pass the only element by itself instead, so the error message has an example."""
    words = f"is a list, as {example}"
    return (ValueRule(words, lambda value: isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)),)


def a(kind: type, words: str) -> Kind:
    return (ValueRule(words, lambda value: isinstance(value, kind)),)


def _is_real(value: object) -> bool:
    """Whether the value is a number. True and False are none, although Python counts with them."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value: object) -> str:
    """The value in one line, and shortened."""
    return str(value) if _is_real(value) else " ".join(shortened(value).split())


def _or_none(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or holds(value)


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
