"""The script's side of its connection: reads requests, makes an answer in parts, and sends no more than are taken."""

import select
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torpor_container.errors import PredictionFailed
from torpor_container.formats.script import socket_frames
from torpor_container.formats.script.socket_frames import FrameKind, ScriptFrame
from torpor_container.invocation import Reply, pieces

READ_BYTES = 64 * 1024
LOOK_PERIOD_S = 0.02
"""A script whose caller has left makes parts for at most this long, and then its current one."""


class RequestFrames:
    """Blocks until a frame is whole. It buffers what it reads ahead itself, so that `pending` can tell."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._ahead = b""

    def read(self) -> ScriptFrame | None:
        """The next frame; None at the end of the stream. Raises BadFrame."""
        prefix = self._exactly(socket_frames.PREFIX.size)
        if prefix is None:
            return None
        head_bytes, body_bytes = socket_frames.sizes(prefix)
        head, body = self._exactly(head_bytes), self._exactly(body_bytes)
        return None if head is None or body is None else socket_frames.decode(head, body)

    def pending(self) -> bool:
        """Whether a frame has come, or has begun to come, or the stream has ended."""
        return bool(self._ahead) or bool(select.select((self._connection,), (), (), 0)[0])

    def _exactly(self, size_bytes: int) -> bytes | None:
        """None where the stream ends first."""
        if not self._ahead and 0 < size_bytes <= READ_BYTES:
            self._ahead = self._connection.recv(READ_BYTES)
        found, self._ahead = self._ahead[:size_bytes], self._ahead[size_bytes:]
        if len(found) == size_bytes:
            return found
        whole = bytearray(size_bytes)
        whole[: len(found)] = found
        with memoryview(whole) as space:
            at = len(found)
            while at < size_bytes:
                came = self._connection.recv_into(space[at:])
                if not came:
                    return None
                at += came
        return bytes(whole)


@dataclass
class Streamed:
    """An answer in parts: the first, and `source`, the script's iterator of the others. `head` has no body."""

    first: bytes
    source: Iterator[Any]
    head: Reply = field(default_factory=lambda: Reply(b"", ""))

    def __iter__(self) -> Iterator[bytes]:
        """The parts that are not empty. Each is made when it is asked for. Raises whatever the script raises."""
        yield from pieces(self.first)
        self.first = b""
        for part in self.source:
            yield from pieces(_content(part))

    def joined(self) -> Reply:
        """The whole answer, for a caller that does not take parts. Raises whatever the script raises."""
        return self.head._replace(body=b"".join(self))

    def close(self) -> None:
        """End a generator where it stands: its `finally` blocks run. Any other iterator may have `close` too."""
        close = getattr(self.source, "close", None)
        if callable(close):
            close()


def in_parts(result: Any) -> Any:
    """A `Streamed` for an iterator of bytes or text. Its first part is made, so that a script which fails before it has
    an ordinary error; a generator also sets its status and headers before it.

    An iterator of anything else becomes a list, and any other result stays as it is. Raises whatever the script raises.
    """
    if not isinstance(result, Iterator):
        return result
    for first in result:
        if not isinstance(first, str | bytes | bytearray | memoryview):
            return [first, *result]
        if first:
            return Streamed(_content(first), result)
    return Streamed(b"", result)


def _content(part: object) -> bytes:
    if isinstance(part, str):
        return part.encode()
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part)
    raise PredictionFailed(f"the script's answer has a part of type {type(part).__name__}: parts are bytes or text")


class PartSender:
    """Sends one stream over `connection`, whose other direction `requests` reads."""

    def __init__(self, connection: socket.socket, requests: RequestFrames, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._requests = requests
        self._clock = clock
        self._allowed = socket_frames.WINDOW
        self._look_at_s = 0.0

    def send(self, streamed: Streamed, head: ScriptFrame) -> None:
        """Send the head and all parts, and close the script's iterator. It returns early if nobody takes the rest.

        Raises whatever the script raises.
        """
        try:
            self._connection.sendall(socket_frames.encode(head))
            parts = iter(streamed)
            while self._may_make_another() and (part := next(parts, None)) is not None:
                self._connection.sendall(socket_frames.part(part))
                self._allowed -= 1
        finally:
            streamed.close()

    def _may_make_another(self) -> bool:
        """Wait until the instance takes one more part; False if it takes none. It sees a STOP also without a wait."""
        while not self._allowed or self._should_read():
            frame = self._requests.read()
            if frame is None or frame.kind is not FrameKind.MORE:
                return False
            self._allowed += socket_frames.parts_of(frame)
        return True

    def _should_read(self) -> bool:
        """Whether a frame has come. It looks from time to time only: to look costs about as much as to send a part."""
        now_s = self._clock()
        if now_s < self._look_at_s:
            return False
        self._look_at_s = now_s + LOOK_PERIOD_S
        return self._requests.pending()
