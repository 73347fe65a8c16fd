"""The JSONPath expressions of DataProcessing: which part of a record a filter keeps. Parses them, and applies them.

SageMaker supports a subset: `$` first, `.name`, `.*`, `['a','b']`, `[n]`, `[n,m]`, `[start:end]`, `[*]`, with negative
indexes. A row of CSV is an array of its columns.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NAME = re.compile(r"\.\s*([^\s.\[\]'\"*$,:]+)")
WILDCARD = re.compile(r"\.\s*\*|\[\s*\*\s*\]")
NAMES = re.compile(r"\[\s*((?:'[^']*'|\"[^\"]*\")(?:\s*,\s*(?:'[^']*'|\"[^\"]*\"))*)\s*\]")
QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
INDEXES = re.compile(r"\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]")
SLICE = re.compile(r"\[\s*(-?\d+)?\s*:\s*(-?\d+)?\s*\]")


class BadFilter(Exception):
    """The expression is not in the subset. The text has its position."""


class NothingKept(Exception):
    """The record lacks what the filter names. The text tells a person what."""


@dataclass(frozen=True)
class Filter:
    """A parsed expression. `of_rows` says whether it fits rows of CSV."""

    text: str
    steps: tuple[Callable[[Any], Any], ...]
    of_rows: bool

    @property
    def keeps_all(self) -> bool:
        return not self.steps

    def kept(self, record: Any) -> Any:
        """The part of the record. Raises NothingKept."""
        for step in self.steps:
            record = step(record)
        return record


def parse(text: str) -> Filter:
    """Raises BadFilter."""
    if not text.startswith("$"):
        raise BadFilter("it must begin with $ (position 1)")
    steps: list[Callable[[Any], Any]] = []
    at, of_rows = 1, True
    while at < len(text):
        for pattern, made in STEPS:
            if found := pattern.match(text, at):
                steps.append(made(found))
                of_rows = of_rows and pattern in OF_ROWS
                at = found.end()
                break
        else:
            raise BadFilter(f"{text[at:]!r} is not supported (position {at + 1})")
    return Filter(text, tuple(steps), of_rows and len(steps) <= 1)


def _member(found: re.Match[str]) -> Callable[[Any], Any]:
    return lambda record: _named(record, found[1])


def _all(found: re.Match[str]) -> Callable[[Any], Any]:
    def step(record: Any) -> Any:
        if isinstance(record, dict):
            return list(record.values())
        return list(_array(record))

    return step


def _members(found: re.Match[str]) -> Callable[[Any], Any]:
    names = [single or double for single, double in QUOTED.findall(found[1])]
    if len(names) == 1:
        return lambda record: _named(record, names[0])
    return lambda record: {name: _named(record, name) for name in names}


def _items(found: re.Match[str]) -> Callable[[Any], Any]:
    indexes = [int(index) for index in found[1].split(",")]
    if len(indexes) == 1:
        return lambda record: _item(record, indexes[0])
    return lambda record: [_item(record, index) for index in indexes]


def _slice(found: re.Match[str]) -> Callable[[Any], Any]:
    begin, end = (None if part is None else int(part) for part in found.groups())
    return lambda record: list(_array(record)[begin:end])


STEPS = ((NAME, _member), (WILDCARD, _all), (NAMES, _members), (INDEXES, _items), (SLICE, _slice))
OF_ROWS = (INDEXES, SLICE, WILDCARD)


def _named(record: Any, name: str) -> Any:
    if not isinstance(record, dict) or name not in record:
        raise NothingKept(f"the record has no member {name!r}")
    return record[name]


def _item(record: Any, index: int) -> Any:
    items = _array(record)
    if not -len(items) <= index < len(items):
        raise NothingKept(f"the record has {len(items)} columns, and no column {index}")
    return items[index]


def _array(record: Any) -> Sequence[Any]:
    if not isinstance(record, list):
        raise NothingKept("the record is no array")
    return record
