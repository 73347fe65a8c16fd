"""Decides which versions of a model may answer, by a policy's text and the versions that there are. It reads nothing.

The three policies are those of TensorFlow Serving (serving_config, "Serving a Specific Version of a Model").
"""

from collections.abc import Iterable
from typing import Final

from torpor_container.frozen_class import frozen

OFF: Final = "off"
RULE: Final = "must be off, latest, latest:N, all, or specific:N,N…"


@frozen
class VersionPolicy:
    """`newest` is how many of the largest numbers may answer; None: all of them. `only`: no others than these may."""

    newest: int | None = None
    only: frozenset[int] | None = None

    def of(self, numbers: Iterable[int]) -> frozenset[int]:
        """Those of the versions that may answer."""
        if self.only is not None:
            return self.only.intersection(numbers)
        found = sorted(numbers, reverse=True)
        return frozenset(found if self.newest is None else found[: self.newest])


def version_policy(text: str) -> VersionPolicy | None:
    """Read a policy's text; None for `off`, with which no name has versions. Raises ValueError."""
    kind, colon, rest = text.partition(":")
    if text == OFF:
        return None
    if text == "all":
        return VersionPolicy()
    if kind == "latest":
        return VersionPolicy(newest=_number(rest) if colon else 1)
    if kind == "specific" and rest:
        return VersionPolicy(only=frozenset(map(_number, rest.split(","))))
    raise ValueError(RULE)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or text[0] == "0":
        raise ValueError(RULE)
    return int(text)
