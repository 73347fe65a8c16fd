"""Reads the frames that an instance sends to a script's process, and knows whether one more has come."""

import select
import socket

from torpor_container.formats.script import frames
from torpor_container.formats.script.frames import ScriptFrame

READ_BYTES = 64 * 1024


class FrameReader:
    """Blocks until a frame is whole. It buffers what it reads ahead itself, so that `pending` can tell."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._ahead = b""

    def read(self) -> ScriptFrame | None:
        """The next frame; None at the end of the stream. Raises BadFrame."""
        prefix = self._exactly(frames.PREFIX.size)
        if prefix is None:
            return None
        head_bytes, body_bytes = frames.sizes(prefix)
        head, body = self._exactly(head_bytes), self._exactly(body_bytes)
        return None if head is None or body is None else frames.decode(head, body)

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
