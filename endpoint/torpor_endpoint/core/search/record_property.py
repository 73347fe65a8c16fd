"""Finds the values of a property in a record: a tree of mappings and lists, whose leaves are text, numbers or Booleans.

A list stands for each of its items: a record may have several values of one property, or none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from math import isfinite
from typing import Any

from torpor_account.core.written_numbers import decimal_of, whole_of


class PropertyType(Enum):
    """How the values of a property are compared. `WRITTEN_NUMBER` is text that may be a number, such as a
    hyperparameter; `TIME` is in epoch seconds; `WHOLE` is a part of the tree, of which only its presence is asked."""

    TEXT = auto()
    NUMBER = auto()
    WRITTEN_NUMBER = auto()
    TIME = auto()
    BOOLEAN = auto()
    WHOLE = auto()


@dataclass(frozen=True)
class RecordProperty:
    """`name` is how callers write it, and `steps` are the keys that lead to it from the root of a record."""

    name: str
    steps: tuple[str, ...]
    type: PropertyType

    def of(self, record: Any) -> Iterator[Any]:
        """Its values in this record. An empty list or mapping is no value."""
        return values_at(record, self.steps)


def values_at(tree: Any, steps: tuple[str, ...]) -> Iterator[Any]:
    """What stands at the end of these steps, item by item."""
    if isinstance(tree, list | tuple):
        for item in tree:
            yield from values_at(item, steps)
    elif not steps:
        if tree is not None and tree != {}:
            yield tree
    elif isinstance(tree, Mapping) and steps[0] in tree:
        yield from values_at(tree[steps[0]], steps[1:])


def number_of(text: str) -> int | float | None:
    """The number that a text writes, an integer if it is written as one; None for what is no finite number."""
    try:
        return whole_of(text)
    except ValueError:
        pass
    try:
        number = decimal_of(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
