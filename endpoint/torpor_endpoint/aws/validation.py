"""Checks an operation's parameters against the constraints of botocore's service model, with AWS's messages.

It checks required members, lengths, ranges, enums and patterns. `wire.reading` checks the types.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from torpor_endpoint.aws.models import Shape

SHOWN = 10
"""The most violations that a message spells out. The message counts all of them."""
LARGEST = sys.float_info.max

JAVA_PATTERNS = {
    # AWS writes its patterns for Java. Python has no \p{..}; these match the same or slightly more.
    r"\p{L}": r"\w",
    r"\p{N}": r"\d",
    r"\p{Z}": r" \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
    r"\uD800\uDC00-\uDBFF\uDFFF": r"\U00010000-\U0010FFFF",
}
ANY_CHARACTER = r"[^\n\r\u0085\u2028\u2029]"
"""What a dot matches in Java. In Python it matches a carriage return too."""
TOKEN = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\.", re.DOTALL)
"""An escaped character, a class of characters, or a dot."""


@dataclass(frozen=True)
class Violation:
    """One failed constraint. `path` is written as AWS writes it: camelCase, list items as `.1.member`."""

    path: str
    value: str | None
    constraint: str
    sensitive: bool = False
    """AWS leaves the value of a sensitive member out of its message."""

    @property
    def missing(self) -> bool:
        return self.value is None

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
    """Every constraint that `value` violates. `wire.reading` has made `value`."""
    for constraint in _broken(value, shape):
        yield Violation(path, shown(value), constraint)
    if shape.type_name == "structure" and not shape.is_document_type:
        yield from _in_structure(value, shape, path)
    elif shape.type_name == "list":
        for number, item in enumerate(value, start=1):
            yield from violations(item, shape.member, f"{path}.{number}.member")
    elif shape.type_name == "map":
        yield from _in_map(value, shape, path)


def _in_structure(value: Mapping[str, Any], shape: Shape, path: str) -> Iterator[Violation]:
    for name, member in shape.members.items():
        here = f"{path}.{_camel(name)}" if path else _camel(name)
        if name in value:
            yield from violations(value[name], member, here)
        elif name in shape.required_members:
            yield Violation(here, None, "Member must not be null")


def _in_map(value: Mapping[str, Any], shape: Shape, path: str) -> Iterator[Violation]:
    for key, item in value.items():
        for constraint in _broken(key, shape.key):
            yield Violation(path, shown(value), f"Map keys must satisfy constraint: [{constraint}]")
        yield from violations(item, shape.value, f"{path}.{key}.member")


def _broken(value: Any, shape: Shape) -> Iterator[str]:
    if shape.type_name in ("string", "list", "map", "blob"):
        outside = list(_outside(len(value), "length", shape))
    elif shape.type_name in ("integer", "long", "float", "double"):
        outside = list(_outside(value, "value", shape))
    else:
        return
    yield from outside
    enum, pattern = shape.metadata.get("enum"), shape.metadata.get("pattern")
    if enum and value not in enum:
        yield f"Member must satisfy enum value set: [{', '.join(enum)}]"
    if (
        pattern and not outside and not _matches(pattern, value)
    ):  # only a text of allowed length is matched: that bounds the time
        yield f"Member must satisfy regular expression pattern: {pattern}"


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
        return re.fullmatch(_in_python(pattern), value) is not None
    except re.error:
        return True  # Python cannot read this Java pattern, so the value passes unchecked


@cache
def _in_python(pattern: str) -> str:
    for java, python in JAVA_PATTERNS.items():
        pattern = pattern.replace(java, python)
    return TOKEN.sub(lambda found: ANY_CHARACTER if found[0] == "." else found[0], pattern)


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
