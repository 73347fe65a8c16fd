"""The constraints of an operation's parameters in botocore's model, each broken once and met once at each border.

It reads the model alone, and shares nothing with the product's validation: `violations` says by itself what a value
breaks, in AWS's words.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from botocore.model import OperationModel, Shape

from tests.account.aws.helpers.java_patterns import matches, text_of, texts_against

SCALARS = ("string", "integer", "long", "float", "double", "blob", "boolean", "timestamp")
NUMBERS = ("integer", "long", "float", "double")
REACHED = 5_000
"""Longer texts and lists are not sent: the limits of bodies come first."""
FURTHER = 80
"""How many lengths beyond a border are tried, where the pattern has no text of just that length."""

Params = dict[str, Any]
Put = Callable[[Any], Params]


@dataclass(frozen=True)
class Broken:
    """Parameters that break the constraints of one member, each as its path and AWS's words."""

    params: Params
    said: tuple[tuple[str, str], ...]
    location: str = "body"


@dataclass(frozen=True)
class Met:
    """Parameters with one member at a border of what is allowed. `member` is its path."""

    params: Params
    member: str
    value: Any

    @property
    def name(self) -> str:
        """The member's own name in the path."""
        return re.split(r"\.\d+\.member", self.member)[-1].rpartition(".")[2] or self.member.rpartition(".")[2]

    def within(self, row: Params) -> Params:
        """A whole call of the operation, with this member as it is here. Only what the row lacks comes with it."""
        steps = [part for part in self.member.split(".") if part != "member"]
        placed = _placed(row, self.params, steps)
        assert isinstance(placed, dict)
        return placed


def _placed(row: Any, params: Any, steps: list[str]) -> Any:
    if not steps:
        return params
    if isinstance(params, list):
        items = list(row) if isinstance(row, list) and row else list(params)
        return [_placed(items[0], params[0], steps[1:]), *items[1:]]
    name = next(name for name in params if name.lower() == steps[0].lower())
    known = row if isinstance(row, dict) else params
    return {**known, name: _placed(known.get(name, params[name]), params[name], steps[1:])}


Case = Broken | Met


def cases(operation: OperationModel) -> Iterator[Case]:
    shape = operation.input_shape
    if shape is not None:
        yield from _cases(shape, "", lambda value: dict(value), frozenset())


def shapes_of(operation: OperationModel) -> list[Shape]:
    """Every shape within the operation's parameters."""
    found: dict[str, Shape] = {}
    left = [operation.input_shape] if operation.input_shape is not None else []
    while left:
        shape = left.pop()
        if shape.name not in found:
            found[shape.name] = shape
            left += _parts_of(shape)
    return list(found.values())


def _parts_of(shape: Shape) -> list[Shape]:
    match shape.type_name:
        case "structure":
            return list(shape.members.values())
        case "list":
            return [shape.member]
        case "map":
            return [shape.key, shape.value]
        case _:
            return []


# -- what breaks -----------------------------------------------------------------------------------------------------
def violations(value: Any, shape: Shape) -> list[str]:
    """The constraints of a shape that a value breaks, in AWS's words."""
    least, most, what = shape.metadata.get("min"), shape.metadata.get("max"), "length"
    size = value if shape.type_name in NUMBERS else len(value) if hasattr(value, "__len__") else None
    if shape.type_name in NUMBERS:
        what = "value"
    found = []
    if size is not None and least is not None and size < least:
        found.append(f"Member must have {what} greater than or equal to {least}")
    if size is not None and most is not None and size > most:
        found.append(f"Member must have {what} less than or equal to {most}")
    if (enum := shape.metadata.get("enum")) and value not in enum:
        found.append(f"Member must satisfy enum value set: [{', '.join(enum)}]")
    if (pattern := shape.metadata.get("pattern")) and not matches(pattern, value):
        found.append(f"Member must satisfy regular expression pattern: {pattern}")
    return found


def _all_of(shape: Shape) -> str:
    """AWS names every constraint of a list's items, and of a map's keys and values: the longest length first."""
    what = "value" if shape.type_name in NUMBERS else "length"
    told = {
        "max": f"Member must have {what} less than or equal to {{}}",
        "min": f"Member must have {what} greater than or equal to {{}}",
        "enum": "Member must satisfy enum value set: {}",
        "pattern": "Member must satisfy regular expression pattern: {}",
    }
    known = {**shape.metadata, "enum": f"[{', '.join(shape.metadata.get('enum') or ())}]"}
    return f"[{', '.join(text.format(known[name]) for name, text in told.items() if name in shape.metadata)}]"


# -- values ----------------------------------------------------------------------------------------------------------
def least(shape: Shape) -> Any:
    """The smallest value without a fault: required members alone, shortest texts, fewest items."""
    match shape.type_name:
        case "structure":
            return {name: least(shape.members[name]) for name in shape.required_members}
        case "list":
            shown = 1 if shape.serialization.get("flattened") else 0  # an empty one is not there in XML
            return [_item(shape.member)] * shape.metadata.get("min", shown)
        case "map":
            return _entries(shape, shape.metadata.get("min", 0))
        case "boolean":
            return True
        case "timestamp":
            return 1_700_000_000
        case "blob":
            return b"x" * shape.metadata.get("min", 0)
        case kind if kind in NUMBERS:
            return shape.metadata.get("min", 1)
        case _:
            return _least_text(shape)


def _item(shape: Shape) -> Any:
    """The smallest item of a list that a form can carry: not an empty structure."""
    value = least(shape)
    if value == {} and shape.type_name == "structure":
        name, member = next(iter(shape.members.items()))
        return {name: _item(member)}
    return [_item(shape.member)] if value == [] and shape.type_name == "list" else value


def _entries(shape: Shape, size: int) -> Params:
    """So many entries of a map."""
    return {_numbered(shape.key, number): least(shape.value) for number in range(size)}


def _least_text(shape: Shape) -> str:
    if enum := shape.metadata.get("enum"):
        return str(enum[0])
    pattern, length = shape.metadata.get("pattern"), max(shape.metadata.get("min", 0), 1)
    if pattern is None:
        return "a" * int(length)
    found = _text(pattern, length, 1)
    assert found is not None, pattern
    return found


@cache
def _text(pattern: str, length: int, step: int) -> str | None:
    """A text of this length that has the pattern, or the next longer or shorter one."""
    tried = (length + step * more for more in range(FURTHER))
    return next((text for at in tried if at >= 0 and (text := text_of(pattern, at)) is not None), None)


@cache
def _against(pattern: str, length: int, in_header: bool) -> str | None:
    """A text of this length that does not have the pattern."""
    texts = texts_against(pattern, length)
    return next((text for text in texts if not in_header or (text.isprintable() and text.isascii())), None)


def _borders(shape: Shape) -> Iterator[Any]:
    """The smallest and the largest values, and each value of an enumeration."""
    smallest, largest = shape.metadata.get("min"), shape.metadata.get("max")
    match shape.type_name:
        case "string":
            if enum := shape.metadata.get("enum"):
                yield from {enum[0], enum[-1]}
                return
            pattern = shape.metadata.get("pattern")
            for border, step in ((smallest, 1), (largest, -1)):
                if border is not None and border <= REACHED:
                    text = "a" * border if pattern is None else _text(pattern, border, step)
                    if text is not None and not violations(text, shape):
                        yield text
        case "list" | "map" | "blob":
            yield from (
                _of_size(shape, border) for border in (smallest, largest) if border is not None and border <= REACHED
            )
        case kind if kind in NUMBERS:
            yield from (border for border in (smallest, largest) if border is not None)


def _faults(shape: Shape, in_header: bool) -> Iterator[Any]:
    """One value for each constraint, which breaks it, and no other where that is possible."""
    smallest, largest = shape.metadata.get("min"), shape.metadata.get("max")
    if shape.type_name in NUMBERS:
        yield from (border + step for border, step in ((smallest, -1), (largest, 1)) if border is not None)
    if shape.type_name in ("list", "map", "blob", "string"):
        sizes = [smallest - 1] if smallest else []
        sizes += [largest + 1] if largest is not None and largest <= REACHED else []
        yield from (_of_size(shape, size) for size in sizes)
    if shape.metadata.get("enum"):
        yield "no such value"
    if pattern := shape.metadata.get("pattern"):
        length = max(len(_least_text(shape)), 1)
        if (text := _against(pattern, length, in_header)) is not None:
            yield text


def _of_size(shape: Shape, size: int) -> Any:
    match shape.type_name:
        case "list":
            return [_item(shape.member)] * size
        case "map":
            return _entries(shape, size)
        case "blob":
            return b"x" * size
        case _:
            pattern = shape.metadata.get("pattern")
            return "a" * size if pattern is None else text_of(pattern, size) or "a" * size


def _numbered(key: Shape, number: int) -> str:
    text = f"k{number}"
    assert not violations(text, key), f"no number of keys for {key.name}"
    return text


# -- the walk --------------------------------------------------------------------------------------------------------
def _cases(shape: Shape, path: str, put: Put, above: frozenset[str]) -> Iterator[Case]:
    if shape.name in above:
        return  # a shape within itself was walked once
    location = shape.serialization.get("location", "body")
    yield from _own(shape, path, put, location)
    inside = above | {shape.name} if shape.type_name in ("structure", "list", "map") else above
    match shape.type_name:
        case "structure":
            yield from _of_structure(shape, path, put, inside)
        case "list":
            fill = [_item(shape.member)] * (shape.metadata.get("min", 1) - 1)
            if shape.member.type_name in SCALARS:
                yield from _of_parts(shape.member, path, lambda item: put([item, *fill]), "Member must")
            else:
                yield from _cases(shape.member, f"{path}.1.member", lambda item: put([item, *fill]), inside)
        case "map":
            key, value, rest = shape.key, shape.value, _entries(shape, shape.metadata.get("min", 1) - 1)
            yield from _of_parts(key, path, lambda text: put({text: least(value), **rest}), "Map keys must")
            if value.type_name in SCALARS:
                yield from _of_parts(value, path, lambda item: put({least(key): item, **rest}), "Map value must")
            else:
                here = f"{path}.{least(key)}.member"
                yield from _cases(value, here, lambda item: put({least(key): item, **rest}), inside)


def _own(shape: Shape, path: str, put: Put, location: str) -> Iterator[Case]:
    for fault in _faults(shape, location == "header"):
        yield Broken(put(fault), tuple((path, text) for text in violations(fault, shape)), location)
    for value in _borders(shape):
        yield Met(put(value), path, value)


def _of_structure(shape: Shape, path: str, put: Put, above: frozenset[str]) -> Iterator[Case]:
    whole: Mapping[str, Any] = least(shape)
    for name, member in shape.members.items():
        here = f"{path}.{name[0].lower()}{name[1:]}".lstrip(".")
        if name in shape.required_members:
            without = {other: value for other, value in whole.items() if other != name}
            location = member.serialization.get("location", "body")
            yield Broken(put(without), ((here, "Member must not be null"),), location)
        yield from _cases(member, here, partial(_with, put, whole, name), above)


def _with(put: Put, whole: Mapping[str, Any], name: str, value: Any) -> Params:
    return put({**whole, name: value})


def _of_parts(shape: Shape, path: str, put: Put, words: str) -> Iterator[Case]:
    """The items of a list, or the keys or values of a map, where they are scalars: AWS names the list or the map."""
    for fault in _faults(shape, in_header=False):
        yield Broken(put(fault), ((path, f"{words} satisfy constraint: {_all_of(shape)}"),))
    for value in _borders(shape):
        yield Met(put(value), path, value)
