"""Translates the patterns of AWS's service models, which are written for Java, into patterns for Python's `re`.

In Java `\\w`, `\\d`, `\\s` and classes such as `\\p{Alnum}` are of ASCII, and a dot matches no end of a line.
"""

import re
import unicodedata
from functools import cache
from itertools import groupby

LAST_ASSIGNED = 0x323AF
"""The last letter of Unicode 15. Beyond are private letters and marks, which have none of the categories below."""
CATEGORY = re.compile("[LMNPSZ][a-z]?")
"""The names of categories of Unicode that are known."""

ASCII_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
SHORTHANDS = {"d": "0-9", "w": "a-zA-Z0-9_", "s": r" \t\n\x0b\f\r"}
EDGES = {r"\z": r"\Z", "$": r"(?=(?:\n|\r\n|[\r\u0085\u2028\u2029])?\Z)"}
"""As Java has it, a dollar also stands before the last end of a line. `\\Z` of Python is `\\z` of Java."""
ANY_CHARACTER = r"[^\n\r\u0085\u2028\u2029]"
"""What a dot matches."""
SURROGATES = re.compile(r"\\uD800\\uDC00-\\uDBFF\\uDFFF")
"""Java's range of all letters beyond the basic plane."""
BEYOND_BASIC = r"\\U00010000-\\U0010FFFF"

TOKEN = re.compile(r"\\[pP]\{(\w+)\}|\\u[0-9a-fA-F]{4}|\\.|[\[\].$]|[^\\\[\].$]+", re.DOTALL)


class Untranslatable(Exception):
    """The pattern has a part that this module does not know."""


@cache
def translated(pattern: str) -> "re.Pattern[str]":
    """The pattern for Python. Raises Untranslatable."""
    parts, depth = [], 0
    for found in TOKEN.finditer(SURROGATES.sub(BEYOND_BASIC, pattern)):
        token = found[0]
        if token == "[":
            depth += 1
            if depth > 1:
                raise Untranslatable(f"a class within a class in {pattern}")
        elif token == "]" and depth:
            depth -= 1
        elif "&&" in token and depth:
            raise Untranslatable(f"an intersection of classes in {pattern}")
        parts.append(_class_part(token, found[1]) if depth else _part(token, found[1]))
    try:
        return re.compile("".join(parts))
    except re.error as error:
        raise Untranslatable(f"{pattern}: {error}") from error


def _part(token: str, name: str | None) -> str:
    if token == ".":
        return ANY_CHARACTER
    if token in EDGES:
        return EDGES[token]
    if name is not None:
        return f"[{'^' if token[1] == 'P' else ''}{_named(name)}]"
    if token[0] == "\\" and token[1].lower() in SHORTHANDS:
        return f"[{'^' if token[1].isupper() else ''}{SHORTHANDS[token[1].lower()]}]"
    return token


def _class_part(token: str, name: str | None) -> str:
    """A part within a class of characters."""
    if name is not None:
        if token[1] == "P":
            raise Untranslatable(f"{token} within a class")
        return _named(name)
    if token[0] == "\\" and token[1] in SHORTHANDS:
        return SHORTHANDS[token[1]]
    if token[0] == "\\" and token[1].lower() in SHORTHANDS:  # the negation: everything but ASCII's
        return _others(SHORTHANDS[token[1].lower()])
    return token


def _named(name: str) -> str:
    """The inside of a class for Java's name of it."""
    if name in ASCII_CLASSES:
        return ASCII_CLASSES[name]
    if CATEGORY.fullmatch(name):
        return _category(name)
    raise Untranslatable(f"no class is known by the name {name}")


@cache
def _category(name: str) -> str:
    """All letters of a category of Unicode, as ranges."""
    parts = []
    for wanted, together in groupby(_runs(), lambda run: run[1].startswith(name)):
        if wanted:
            runs = [*together]
            parts.append(_range(runs[0][0].start, runs[-1][0].stop))
    return "".join(parts)


@cache
def _runs() -> list[tuple[range, str]]:
    """The letters of Unicode, as runs of the same category. It takes some 50 ms once."""
    runs, at = [], 0
    for category, letters in groupby(map(unicodedata.category, map(chr, range(LAST_ASSIGNED + 1)))):
        begin, at = at, at + sum(1 for _ in letters)
        runs.append((range(begin, at), category))
    return runs


@cache
def _others(inside: str) -> str:
    """All letters that a class of ASCII does not have, as ranges."""
    has = re.compile(f"[{inside}]").fullmatch
    return _ranges([not has(chr(at)) for at in range(128)]) + r"\x80-\U0010ffff"


def _ranges(wanted: list[bool]) -> str:
    """The places of the true values, as ranges of letters."""
    parts, at = [], 0
    for want, run in groupby(wanted):
        begin, at = at, at + len(list(run))
        if want:
            parts.append(_range(begin, at))
    return "".join(parts)


def _range(begin: int, end: int) -> str:
    return f"\\U{begin:08x}-\\U{end - 1:08x}"
