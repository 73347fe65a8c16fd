"""The JSONPath expressions of DataProcessing: which part of a record a filter keeps. Parses them, and applies them.

SageMaker supports a subset: `$` first, `.name`, `.*`, `['a','b']`, `[n]`, `[n,m]`, `[start:end]`, `[n,start:]`, `[*]`,
with negative indexes. A row of CSV is an array of its columns.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from torpor_container.frozen_class import frozen

NAME = re.compile(r"\.\s*([^\s.\[\]'\"*$,:]+)")
WILDCARD = re.compile(r"\.\s*\*|\[\s*\*\s*\]")
NAMES = re.compile(r"\[\s*((?:'[^']*'|\"[^\"]*\")(?:\s*,\s*(?:'[^']*'|\"[^\"]*\"))*)\s*\]")
QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
ONE = r"(?:(?:-?\d+)?\s*:\s*(?:-?\d+)?|-?\d+)"
COLUMNS = re.compile(rf"\[\s*({ONE}(?:\s*,\s*{ONE})*)\s*\]")


class BadFilter(Exception):
    """The expression is not in the subset. The text has its position."""


class NothingKept(Exception):
    """The record lacks what the filter names. The text tells a person what."""


@frozen
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
    at, of_rows, several = 1, True, False
    while at < len(text):
        for pattern, made in STEPS:
            if found := pattern.match(text, at):
                if several:
                    raise BadFilter(
                        f"{found[0]!r} is not supported after a step that keeps several (position {at + 1})"
                    )
                steps.append(made(found))
                several = pattern is WILDCARD or (pattern in LISTS and not ONLY_ONE(found[1]))
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


def _columns(found: re.Match[str]) -> Callable[[Any], Any]:
    parts = [part.strip() for part in found[1].split(",")]
    if ONLY_ONE(found[1]):
        return lambda record: _item(_array(record), int(parts[0]))
    return lambda record: [item for part in parts for item in _part(_array(record), part)]


def _part(items: Sequence[Any], part: str) -> Sequence[Any]:
    """The items of one index, or of one slice, which is within the array: "If you specify indexes that are outside the
    dimension range, you get an error" (AWS, DataProcessing)."""
    if ":" not in part:
        return [_item(items, int(part))]
    begin, end = (int(text) if text.strip() else None for text in part.split(":"))
    kept = items[begin:end]
    if not kept or any(bound is not None and not -len(items) <= bound <= len(items) for bound in (begin, end)):
        raise NothingKept(f"the record has {len(items)} columns, and [{part}] is not within them")
    return kept


STEPS = ((NAME, _member), (WILDCARD, _all), (NAMES, _members), (COLUMNS, _columns))
OF_ROWS = (COLUMNS, WILDCARD)
LISTS = (NAMES, COLUMNS)
ONLY_ONE = re.compile(r"'[^']*'|\"[^\"]*\"|-?\d+").fullmatch


def _named(record: Any, name: str) -> Any:
    if not isinstance(record, dict) or name not in record:
        raise NothingKept(f"the record has no member {name!r}")
    return record[name]


def _item(items: Sequence[Any], index: int) -> Any:
    if not -len(items) <= index < len(items):
        raise NothingKept(f"the record has {len(items)} columns, and no column {index}")
    return items[index]


def _array(record: Any) -> Sequence[Any]:
    if not isinstance(record, list):
        raise NothingKept("the record is no array")
    return record
