"""How many rows a request has, where that is known without reading it: by the lines of its body."""

from collections.abc import Sequence
from typing import Final

BY_LINE: Final = frozenset({b"text/csv", b"text/libsvm", b"text/x-libsvm", b"application/jsonlines"})
"""The content types of which each line is a row."""


def counted_rows(content_type: bytes, body: Sequence[bytes]) -> int | None:
    """The lines of the body, as its chunks; None for a type whose rows cannot be counted so."""
    if content_type.partition(b";")[0].strip().lower() not in BY_LINE:
        return None
    last = next((chunk for chunk in reversed(body) if chunk), b"")
    return max(1, sum([chunk.count(b"\n") for chunk in body]) + (not last.endswith(b"\n")))
