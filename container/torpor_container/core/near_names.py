"""Finds the names that a caller may have meant by an unknown name. Names in, names out."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

NEAR_MAX: Final = 3
RATIO_MIN: Final = 0.6
COMPARED_MAX: Final = 20
"""At most this many names are compared letter by letter: the time grows with the square of their length."""
LETTERS_MAX: Final = 200
SUFFIXES: Final = (".tar.gz", ".tgz", ".tar")


def nearest(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that are most like `name`, best first, three at most. Case, suffix and folder do not count.

    Names that cannot be printed are left out.
    """
    target = _plain(name)
    rough = _best(((_rough(target, _plain(other)), other) for other in names if other.isprintable()), COMPARED_MAX)
    return tuple(_best(((_ratio(target, _plain(other)), other) for other in rough), NEAR_MAX))


def question(names: tuple[str, ...]) -> str:
    """The question to add to a message; empty without names."""
    quoted = [f"`{name}`" for name in names]
    return (
        f" Did you mean {' or '.join((', '.join(quoted[:-1]), quoted[-1]) if quoted[1:] else quoted)}?"
        if quoted
        else ""
    )


def _best(scored: Iterable[tuple[float, str]], at_most: int) -> list[str]:
    likely = sorted((-ratio, name) for ratio, name in scored if ratio >= RATIO_MIN)
    return [name for _, name in likely[:at_most]]


def _plain(name: str) -> str:
    plain = name.casefold()
    for suffix in SUFFIXES:
        plain = plain.removesuffix(suffix)
    return plain[-LETTERS_MAX:]


def _rough(target: str, other: str) -> float:
    """An upper bound of `_ratio`, from one pass over the letters."""
    whole = SequenceMatcher(None, target, other, autojunk=False).quick_ratio()
    return 1.0 if _last(target) == _last(other) else whole


def _ratio(target: str, other: str) -> float:
    whole = SequenceMatcher(None, target, other, autojunk=False).ratio()
    return 1.0 if _last(target) == _last(other) else whole


def _last(name: str) -> str:
    return name.rpartition("/")[2]
