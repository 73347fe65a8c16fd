"""Parses JSON and JSON Lines to values. A name that is twice in one object is refused: only one value could be kept."""

import json
from collections import Counter
from typing import Any

from torpor_container.content.kinds import read_number
from torpor_container.errors import BadInput


def parse(body: bytes, exactly: bool = False) -> Any:
    """The JSON value. `exactly`: a number that no float can hold is `Beyond`, and not infinity. Raises BadInput."""
    try:
        return _loaded(body, exactly)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the body is not JSON: {error}") from None


def parse_lines(body: bytes, exactly: bool = False) -> list[Any]:
    """A value for each line that is not empty. Raises BadInput, which names the line."""
    lines = [line for line in body.split(b"\n") if line.strip()]
    try:
        values: list[Any] = _loaded(b"[" + b",".join(lines) + b"]", exactly)
    except (ValueError, RecursionError):
        values = []
    if len(values) == len(lines):
        return values
    return [_line(number, line, exactly) for number, line in enumerate(lines, start=1)]


def _line(number: int, line: bytes, exactly: bool) -> Any:
    try:
        return _loaded(line, exactly)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"line {number} is not JSON: {error}") from None


def _loaded(text: bytes, exactly: bool) -> Any:
    if not exactly and text.count(b":") < 2:  # no object has two names
        return json.loads(text)
    return json.loads(text, parse_float=read_number if exactly else None, object_pairs_hook=_unique)


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        twice = [name for name, count in Counter(name for name, _ in members).items() if count > 1]
        raise BadInput(f"an object has a name more than once: {', '.join(twice)}")
    return found
