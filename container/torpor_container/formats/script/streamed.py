"""An answer of a script in parts: the iterator that the script returned, as bytes, one part at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torpor_container.errors import PredictionFailed
from torpor_container.invocation import Reply, pieces


@dataclass
class Streamed:
    """`source` is the script's iterator of bytes or text; `head` has no body."""

    source: Iterator[Any]
    head: Reply
    _first: bytes | None = field(default=None, init=False)

    def begin(self) -> None:
        """Make the first part, so that a script which fails before it gets an ordinary error. A generator also sets its
        status and headers before it. Raises whatever the script raises."""
        self._first = next(self._parts(), b"")

    def __iter__(self) -> Iterator[bytes]:
        """The parts that are not empty. Each is made when it is asked for. Raises whatever the script raises."""
        if self._first:
            yield from pieces(self._first)
            self._first = None
        for part in self._parts():
            yield from pieces(part)

    def joined(self) -> Reply:
        """The whole answer, for a caller that does not take parts. Raises whatever the script raises."""
        return self.head._replace(body=b"".join(self))

    def close(self) -> None:
        """End a generator where it stands: its `finally` blocks run. Any other iterator may have `close` too."""
        close = getattr(self.source, "close", None)
        if callable(close):
            close()

    def _parts(self) -> Iterator[bytes]:
        for part in self.source:
            if content := _content(part):
                yield content


def _content(part: object) -> bytes:
    if isinstance(part, str):
        return part.encode()
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part)
    raise PredictionFailed(f"the script's answer has a part of type {type(part).__name__}: parts are bytes or text")
