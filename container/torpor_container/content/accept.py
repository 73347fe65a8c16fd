"""Chooses the answer's media type from an Accept header (RFC 9110, section 12.5.1). It encodes nothing."""

from collections.abc import Sequence
from typing import NamedTuple

from torpor_container.content.media import media_type
from torpor_container.errors import NotAcceptable


class MediaRange(NamedTuple):
    """One element of the header, such as `text/*;q=0.5`. Its order is that of preference, except for the position."""

    quality: float
    specificity: int
    position: int
    pattern: str

    def covers(self, kind: str) -> bool:
        return self.pattern in ("*/*", kind, f"{kind.partition('/')[0]}/*")


def choose(accept: str, offered: Sequence[str]) -> str:
    """The offered type that the caller prefers; of equal ones the most specific, then the one named first.

    `offered` is in the server's order of preference: its first answers an absent header and `*/*`.
    Raises NotAcceptable if the header covers none of them, as SageMaker's XGBoost container does.
    """
    if accept in offered:
        return accept
    if not accept or accept == "*/*":
        return offered[0]
    ranges = [_range(position, text) for position, text in enumerate(accept.split(","))]
    acceptable = [(found, kind) for kind in offered if (found := _rank(kind, ranges)) and found.quality > 0]
    if not acceptable:
        raise NotAcceptable.of(accept, offered)
    return max(acceptable, key=lambda pair: (pair[0].quality, pair[0].specificity, -pair[0].position))[1]


def _rank(kind: str, ranges: list[MediaRange]) -> MediaRange | None:
    """The most specific range that covers this type: it decides, so `text/csv;q=0, */*` refuses CSV."""
    covering = [found for found in ranges if found.covers(kind)]
    return max(covering, key=lambda found: found.specificity, default=None)


def _range(position: int, text: str) -> MediaRange:
    pattern = media_type(text)
    specificity = 2 - pattern.count("*")
    return MediaRange(_quality(text), specificity, position, pattern)


def _quality(text: str) -> float:
    for parameter in text.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            return _number(value.strip())
    return 1.0


def _number(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 1.0
