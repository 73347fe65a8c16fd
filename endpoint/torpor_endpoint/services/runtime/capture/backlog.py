"""Bounds what data capture holds in memory: the captured requests that wait, and the lines that are not yet in S3."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from torpor_endpoint.core.capture import CapturedRequest

RECORD_BYTES = 2048
"""What a captured request takes in memory beside its bodies."""


@dataclass(frozen=True)
class CaptureLimits:
    """The most that data capture holds in memory, over all endpoints: bytes, and records that wait to be encoded."""

    bytes: int = 64 * 1024 * 1024
    records: int = 10_000


class Backlog:
    """The captured requests that wait to be encoded. One beyond the limits is dropped, and `dropped` gets it.

    `arrived` is called for the first request of an empty backlog.
    """

    def __init__(self, limits: CaptureLimits, arrived: Callable[[], None], dropped: Callable[[CapturedRequest], None]):
        self._limits = limits
        self._arrived = arrived
        self._dropped = dropped
        self._waiting: deque[tuple[CapturedRequest, int]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """The requests that wait to be encoded."""
        return len(self._waiting)

    @property
    def held_bytes(self) -> int:
        """The bytes of all that is in memory: waiting requests, and lines that are not yet in S3."""
        return self._bytes

    def add(self, request: CapturedRequest) -> None:
        """Take a request, or drop it. Returns at once."""
        size_bytes = request.size_bytes + RECORD_BYTES
        if len(self._waiting) >= self._limits.records or self._bytes + size_bytes > self._limits.bytes:
            self._dropped(request)
            return
        self._bytes += size_bytes
        self._waiting.append((request, size_bytes))
        if len(self._waiting) == 1:
            self._arrived()

    def first(self) -> CapturedRequest:
        """The request that has waited longest. It stays until it is `encoded`."""
        return self._waiting[0][0]

    def encoded(self, line_bytes: int) -> None:
        """The longest waiting request has become a line of this size, which counts in its place."""
        _, size_bytes = self._waiting.popleft()
        self._bytes += line_bytes - size_bytes

    def released(self, lines_bytes: int) -> None:
        """Lines of this size are no longer in memory."""
        self._bytes -= lines_bytes
