"""Keeps the parts of streamed answers that observers read once the stream has ended, within bounds of memory.

A part is kept as it is sent, and waits for nothing. Two bounds hold: bytes of one stream's parts, and bytes of all
streams in progress together, with the bodies of their requests. What does not fit is not kept, and is marked as cut.
"""

from torpor_container.frozen_class import frozen
from torpor_container.transport.upstream_answers import Body


@frozen
class KeptLimits:
    """The most that is kept of one stream's parts, and of all streams in progress with their requests, in bytes."""

    stream_bytes: int = 1024 * 1024
    streams_bytes: int = 64 * 1024 * 1024


KEPT = KeptLimits()


class KeptStreams:
    """What is kept of all streams in progress."""

    def __init__(self, limits: KeptLimits) -> None:
        self.limits = limits
        self.held_bytes = 0

    @property
    def room_bytes(self) -> int:
        return self.limits.streams_bytes - self.held_bytes

    def begin(self, request_bytes: int) -> "KeptParts | None":
        """Keep a stream, whose request has a body of this size, until `KeptParts.close`. None if there is no room."""
        if request_bytes > self.room_bytes:
            return None
        self.held_bytes += request_bytes
        return KeptParts(self, request_bytes)


class KeptParts:
    """The parts of one stream that were sent until now, joined. `cut`: there were more of them than are kept."""

    def __init__(self, streams: KeptStreams, request_bytes: int) -> None:
        self.cut = False
        self._streams = streams
        self._request_bytes = request_bytes
        self._joined = bytearray()  # a list of many small parts would take several times their bytes

    def add(self, part: bytes) -> None:
        if self.cut:
            return
        room_bytes = min(self._streams.limits.stream_bytes - len(self._joined), self._streams.room_bytes)
        if len(part) > room_bytes:
            self.cut = True
            part = part[:room_bytes]
        self._joined += part
        self._streams.held_bytes += len(part)

    def chunks(self) -> Body:
        return [bytes(self._joined)]

    def close(self) -> None:
        """The stream has ended, and its observers have seen it."""
        self._streams.held_bytes -= self._request_bytes + len(self._joined)
        self._request_bytes = 0
        self._joined.clear()
