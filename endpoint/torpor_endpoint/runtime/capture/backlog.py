"""Bounds what data capture holds in memory: the notes that wait, and the lines that are not yet in S3."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.capture import CapturedRequest

NOTE_BYTES = 8192
"""What a note takes in memory beside the bodies, about."""

TOGETHER = 16
"""So many notes are encoded together, soon after they came: they are still in the processor's caches then."""


class Note(Protocol):
    """What is noted of a request between two others. The rest of the work is done later."""

    def captured(self) -> CapturedRequest:
        """What the request's record is made of."""


@frozen
class CaptureLimits:
    """The most that data capture holds in memory, over all endpoints: bytes, and records that wait to be encoded."""

    bytes: int = 64 * 1024 * 1024
    records: int = 10_000


class Backlog:
    """The notes that wait to be encoded. One beyond the limits is dropped, and `dropped` gets it.

    `arrived` is called for the first note of an empty backlog, and whenever `TOGETHER` more wait.
    """

    def __init__(self, limits: CaptureLimits, arrived: Callable[[], None], dropped: Callable[[Note], None]) -> None:
        self._limits = limits
        self._arrived = arrived
        self._dropped = dropped
        self._waiting: deque[tuple[Note, int]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """The notes that wait to be encoded."""
        return len(self._waiting)

    @property
    def held_bytes(self) -> int:
        """The bytes of all that is in memory: waiting notes, and lines that are not yet in S3."""
        return self._bytes

    def add(self, note: Note, bodies_bytes: int) -> None:
        """Take a note, or drop it. Returns at once."""
        size_bytes = bodies_bytes + NOTE_BYTES
        if len(self._waiting) >= self._limits.records or self._bytes + size_bytes > self._limits.bytes:
            self._dropped(note)
            return
        self._bytes += size_bytes
        self._waiting.append((note, size_bytes))
        if len(self._waiting) % TOGETHER == 1:
            self._arrived()

    @property
    def first(self) -> Note:
        """The note that has waited longest. It stays until it is `encoded`."""
        return self._waiting[0][0]

    @property
    def first_bytes(self) -> int:
        """What that note takes in memory."""
        return self._waiting[0][1]

    def encoded(self, line_bytes: int) -> None:
        """The longest waiting note has become a line of this size, which counts in its place."""
        _, size_bytes = self._waiting.popleft()
        self._bytes += line_bytes - size_bytes

    def released(self, lines_bytes: int) -> None:
        """Lines of this size are no longer in memory."""
        self._bytes -= lines_bytes
