"""Compiles filter patterns for unstructured text: terms, "phrases", ?any-of and -excluded. Pure."""

import re
from collections.abc import Callable

TERM = re.compile(r"""\s*(?P<sign>[?-]?)(?:"(?P<phrase>(?:[^"\\]|\\.)*)"|(?P<word>[^\s"]+))(?=\s|$)""")
OTHER_KINDS = {"{": "JSON", "[": "space-delimited", "%": "regular expression"}
"""The kinds of patterns that are not supported, by their first character."""

Matches = Callable[[str], bool]


class PatternError(Exception):
    """The pattern is malformed or not supported. The message says why."""


def compiled(pattern: str) -> Matches:
    """A predicate on messages. Terms match anywhere in a message, with upper and lower case. Raises PatternError."""
    text = pattern.strip()
    if text[:1] in OTHER_KINDS:
        raise PatternError(f"Torpor does not implement {OTHER_KINDS[text[0]]} filter patterns: {pattern}")
    terms = _terms(text)
    needed, excluded, optional = terms[""], terms["-"], terms["?"]
    if needed or excluded:  # AWS: with these beside them, "all '?' terms are ignored"
        return lambda message: all(one in message for one in needed) and not any(one in message for one in excluded)
    return lambda message: not optional or any(one in message for one in optional)


def _terms(text: str) -> dict[str, list[str]]:
    """The terms by their signs."""
    terms: dict[str, list[str]] = {"": [], "?": [], "-": []}
    at = 0
    while at < len(text):
        found = TERM.match(text, at)
        if found is None:
            raise PatternError(f"Invalid filter pattern: {text[at:]}")
        phrase = found["phrase"]
        terms[found["sign"]].append(found["word"] if phrase is None else re.sub(r"\\(.)", r"\1", phrase))
        at = found.end()
    return terms
