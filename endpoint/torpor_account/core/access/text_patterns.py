"""Matches texts against the patterns of policies: `*`, `?`, and policy variables such as `${aws:username}`.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html. A variable's value is literal: a tag
with the value `*` matches only itself. Matching takes time in proportion to text and pattern, whatever they are.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from torpor_container.frozen_class import frozen

Lookup = Callable[[str], Sequence[str] | None]
"""Takes a condition key in lower case; returns its values, or None if the request has no such key."""

UNKNOWN: Sequence[str] = ("(not known here)",)
"""The values of a key that a request may have, and that nobody here knows: what they are compared with makes no
difference. A Deny that asks for them denies, and an Allow does not allow."""

ARN_PARTS = 6

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_DEFAULT = re.compile(r"\s*([^,\s]+)\s*(?:,\s*'([^']*)'\s*)?")
_LITERALS = ("*", "?", "$")
_ANY, _ONE = "\0*", "\0?"
"""How wildcards stand among the characters of a parsed pattern: each has two characters, so no other one equals it."""


@frozen
class TextVariable:
    """A policy variable: the condition key in lower case, and the value where the request has none."""

    key: str
    default: str | None = None

    def value(self, lookup: Lookup) -> str | None:
        found = lookup(self.key)
        if found is UNKNOWN:
            return None
        return found[0] if found is not None and len(found) == 1 else self.default


@frozen
class TextPattern:
    """A parsed pattern: characters, wildcards and variables, in their order."""

    parts: tuple[str | TextVariable, ...]

    @classmethod
    def parsed(cls, text: str, *, variables: bool, wildcards: bool = True) -> "TextPattern":
        """Without `variables` or without `wildcards` their signs are ordinary characters."""
        parts: list[str | TextVariable] = []
        at = 0
        for found in _VARIABLE.finditer(text) if variables else ():
            parts += _characters(text[at : found.start()], wildcards)
            parts.append(_variable(found[1]))
            at = found.end()
        return cls((*parts, *_characters(text[at:], wildcards)))

    def resolved(self, lookup: Lookup) -> tuple[str, ...] | None:
        """The pattern's characters and wildcards; None if a variable has no value."""
        if self._constant is not None:
            return self._constant
        resolved: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                resolved.append(part)
                continue
            value = part.value(lookup)
            if value is None:
                return None
            resolved += value
        return tuple(resolved)

    def has(self, text: str, lookup: Lookup) -> bool:
        """Whether the text matches."""
        if self._exact is not None:
            return text == self._exact
        if self._prefix is not None:
            return text.startswith(self._prefix)
        resolved = self.resolved(lookup)
        return resolved is not None and _matches(resolved, text)

    def has_arn(self, text: str, lookup: Lookup) -> bool:
        """Whether the ARN matches part by part: no wildcard reaches over a colon, except in the last part."""
        resolved = self.resolved(lookup)
        if resolved is None:
            return False
        patterns, texts = _split(resolved), text.split(":", ARN_PARTS - 1)
        return len(patterns) == len(texts) and all(map(_matches, patterns, texts))

    @cached_property
    def _constant(self) -> tuple[str, ...] | None:
        return tuple(str(part) for part in self.parts) if all(isinstance(part, str) for part in self.parts) else None

    @cached_property
    def _exact(self) -> str | None:
        """The only text that matches, if there is just one."""
        parts = self._constant
        return None if parts is None or any(part in (_ANY, _ONE) for part in parts) else "".join(parts)

    @cached_property
    def _prefix(self) -> str | None:
        """The beginning of all texts that match, if that is all they need."""
        parts = self._constant
        if parts is None or not parts or parts[-1] != _ANY or any(part in (_ANY, _ONE) for part in parts[:-1]):
            return None
        return "".join(parts[:-1])


def _characters(text: str, wildcards: bool) -> list[str]:
    return [f"\0{character}" if wildcards and character in "*?" else character for character in text]


def _variable(inside: str) -> str | TextVariable:
    if inside in _LITERALS:
        return inside
    found = _DEFAULT.fullmatch(inside)
    return TextVariable(inside.strip().lower()) if found is None else TextVariable(found[1].lower(), found[2])


def _split(pattern: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The parts of an ARN's pattern. The last part may have colons of its own."""
    found: list[list[str]] = [[]]
    for part in pattern:
        if part == ":" and len(found) < ARN_PARTS:
            found.append([])
        else:
            found[-1].append(part)
    return list(map(tuple, found))


def _matches(pattern: Sequence[str], text: str) -> bool:
    """Wildcards by going back to the last `*` only: what an earlier one takes makes no difference."""
    at = place = 0
    star, mark = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == _ANY:
            star, mark = place, at
            place += 1
        elif place < len(pattern) and (pattern[place] == _ONE or pattern[place] == text[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            mark += 1
            at, place = mark, star + 1
        else:
            return False
    return all(part == _ANY for part in pattern[place:])
