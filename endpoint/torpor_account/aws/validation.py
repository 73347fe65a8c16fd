"""Checks an operation's parameters against the constraints of botocore's service model, with AWS's messages.

It checks required members, lengths, ranges, enums and patterns. `wire.parameter_reading` checks the types.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from torpor_account.aws.java_patterns import Untranslatable, translated
from torpor_account.aws.service_models import Shape
from torpor_container.frozen_class import frozen

SHOWN = 10
"""The most violations that a message spells out. The message counts all of them."""
LARGEST = sys.float_info.max

LONGER_MATCHED = 1_024
"""A text that is so many letters longer than allowed is still matched against its pattern. That bounds the time."""
ENUM = "Member must satisfy enum value set: ["
CONTAINERS = ("structure", "list", "map")


@frozen
class Violation:
    """One failed constraint. `path` is written as AWS writes it: camelCase, list items as `.1.member`."""

    path: str
    value: str | None
    constraint: str
    sensitive: bool = False
    """AWS leaves the value of a sensitive member out of its message."""
    item: int | None = None
    """The number of the first item of the list at `path` that fails, where the constraint is one of its items."""

    @property
    def place(self) -> str:
        """The path of the member, or of its item, that fails."""
        return self.path if self.item is None else f"{self.path}.{self.item}.member"

    @property
    def missing(self) -> bool:
        return self.value is None

    @property
    def allowed(self) -> str:
        """The values of the enumeration that the value is not in; empty for another constraint."""
        _, is_enum, values = self.constraint.partition(ENUM)
        return values.rstrip("]") if is_enum else ""

    def __str__(self) -> str:
        value = "null " if self.value is None else f"'{self.value}' "
        return (
            f"Value {'' if self.sensitive else value}at '{self.path}' failed to satisfy constraint: {self.constraint}"
        )


def message(violations: list[Violation]) -> str:
    """`2 validation errors detected: Value ...; Value ...`"""
    errors = "error" if len(violations) == 1 else "errors"
    return f"{len(violations)} validation {errors} detected: " + "; ".join(map(str, violations[:SHOWN]))


def violations(value: Any, shape: Shape, path: str = "") -> Iterator[Violation]:
    """Every constraint that `value` violates. `wire.parameter_reading` has made `value`."""
    for constraint in _broken(value, shape):
        yield Violation(path, shown(value), constraint, sensitive=is_sensitive(shape))
    if shape.type_name == "structure" and not shape.is_document_type:
        yield from _in_structure(value, shape, path)
    elif shape.type_name == "list":
        yield from _in_list(value, shape, path)
    elif shape.type_name == "map":
        yield from _in_map(value, shape, path)


def is_sensitive(shape: Shape) -> bool:
    """Whether AWS leaves values of this shape out of its messages, alone or within a list or a map."""
    if shape.type_name == "list":
        return is_sensitive(shape.member)
    if shape.type_name == "map":
        return is_sensitive(shape.key) or is_sensitive(shape.value)
    return bool(shape.metadata.get("sensitive"))


def _in_structure(value: Mapping[str, Any], shape: Shape, path: str) -> Iterator[Violation]:
    for name, member in shape.members.items():
        here = f"{path}.{_camel(name)}" if path else _camel(name)
        if name in value:
            yield from violations(value[name], member, here)
        elif name in shape.required_members:
            yield Violation(here, None, "Member must not be null")


def _in_list(value: list[Any], shape: Shape, path: str) -> Iterator[Violation]:
    """AWS names the place of an item that is a structure; of others, the list and every constraint of its items."""
    if shape.member.type_name in CONTAINERS:
        for number, item in enumerate(value, start=1):
            yield from violations(item, shape.member, f"{path}.{number}.member")
    elif broken := next((at for at, item in enumerate(value, start=1) if _is_broken(item, shape.member)), None):
        found = _of_parts(value, shape, path, f"Member must satisfy constraint: {_every(shape.member)}")
        yield replace(found, item=broken)


def _in_map(value: Mapping[str, Any], shape: Shape, path: str) -> Iterator[Violation]:
    """As in a list, with one violation for all keys and one for all values."""
    if any(_is_broken(key, shape.key) for key in value):
        yield _of_parts(value, shape, path, f"Map keys must satisfy constraint: {_every(shape.key)}")
    if shape.value.type_name in CONTAINERS:
        for key, item in value.items():
            yield from violations(item, shape.value, f"{path}.{key}.member")
    elif any(_is_broken(item, shape.value) for item in value.values()):
        yield _of_parts(value, shape, path, f"Map value must satisfy constraint: {_every(shape.value)}")


def _of_parts(value: Any, shape: Shape, path: str, constraint: str) -> Violation:
    return Violation(path, shown(value), constraint, sensitive=is_sensitive(shape))


def _is_broken(value: Any, shape: Shape) -> bool:
    return next(_broken(value, shape), None) is not None


def _every(shape: Shape) -> str:
    """All constraints of a list's items, or of a map's keys or values, whichever is broken."""
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    enum, pattern = shape.metadata.get("enum"), shape.metadata.get("pattern")
    what = "length" if shape.type_name in ("string", "blob") else "value"
    found = [
        f"Member must have {what} less than or equal to {most}" if most is not None else None,
        f"Member must have {what} greater than or equal to {least}" if least is not None else None,
        f"{ENUM}{', '.join(enum)}]" if enum else None,
        f"Member must satisfy regular expression pattern: {pattern}" if pattern else None,
    ]
    return f"[{', '.join(filter(None, found))}]"


def _broken(value: Any, shape: Shape) -> Iterator[str]:
    if shape.type_name in ("string", "list", "map", "blob"):
        yield from _outside(len(value), "length", shape)
    elif shape.type_name in ("integer", "long", "float", "double"):
        yield from _outside(value, "value", shape)
    else:
        return
    enum, pattern = shape.metadata.get("enum"), shape.metadata.get("pattern")
    if enum and value not in enum:
        yield f"{ENUM}{', '.join(enum)}]"
    if pattern and _is_matched(value, shape) and not _matches(pattern, value):
        yield f"Member must satisfy regular expression pattern: {pattern}"


def _is_matched(value: str, shape: Shape) -> bool:
    most = shape.metadata.get("max")
    return most is None or len(value) <= most + LONGER_MATCHED


def _outside(size: float, what: str, shape: Shape) -> Iterator[str]:
    """The violated bounds. NaN violates any bound; infinity violates also a bound that is not given."""
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is None and most is None:
        return
    least, most = -LARGEST if least is None else least, LARGEST if most is None else most
    if not size >= least:
        yield f"Member must have {what} greater than or equal to {least}"
    if size > most:
        yield f"Member must have {what} less than or equal to {most}"


def _matches(pattern: str, value: str) -> bool:
    try:
        return translated(pattern).fullmatch(value) is not None
    except Untranslatable:
        return True  # the value passes unchecked


def _camel(name: str) -> str:
    return name[:1].lower() + name[1:]


def shown(value: Any) -> str:
    """The value as text: scalars and lists of scalars in full, other values by their size."""
    match value:
        case list() if not any(isinstance(item, (list, dict, bytes)) for item in value):
            text = f"[{', '.join(map(str, value))}]"
        case list():
            return f"[{len(value)} items]"
        case dict():
            return f"{{{len(value)} members}}"
        case bytes():
            return f"{len(value)} bytes"
        case _:
            text = str(value)
    return text if len(text) <= 256 else text[:253] + "..."
