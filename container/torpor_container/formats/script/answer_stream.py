"""The instance's side of one answer in parts: reads its frames as they come, and allows the script more parts."""

import asyncio
from collections.abc import Sequence

from torpor_container.formats.script import socket_frames
from torpor_container.formats.script.socket_frames import BadFrame, FrameBuffer, FrameKind, ScriptFrame
from torpor_container.measuring.effort import Effort
from torpor_container.waiting.quiet_timeout import patiently

READ_BYTES = 64 * 1024
LAST = frozenset({FrameKind.REPLY, FrameKind.END, FrameKind.ERROR})
IN_A_STREAM = LAST | {FrameKind.HEAD, FrameKind.PART}


class ScriptStream:
    """`ended` is True once the last frame of the answer was read, and `effort` is what an answer in parts took. Whoever
    reads may be cancelled and read on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.ended = False
        self.effort: Effort | None = None
        self._reader = reader
        self._writer = writer
        self._buffer = FrameBuffer()
        self._taken = 0

    def send(self, request: bytes) -> None:
        self._writer.write(request)

    async def read(self) -> Sequence[ScriptFrame]:
        """The frames that have come, at least one. Raises IncompleteReadError, ConnectionError, BadFrame."""
        while True:
            await self._writer.drain()
            data = await self._reader.read(READ_BYTES)
            if not data:
                raise asyncio.IncompleteReadError(b"", None)
            if found := self._buffer.feed(data):
                self._check(found)
                return found

    def took(self, parts: int) -> None:
        """Allow the script as many parts more as the caller has taken. Several are allowed together."""
        self._taken += parts
        if self._taken >= socket_frames.WINDOW // 2 and not self.ended:
            self._writer.write(socket_frames.more(self._taken))
            self._taken = 0

    async def stop(self, within_s: float) -> None:
        """Ask the script to end, and drop the rest. Raises as `read`, and TimeoutError."""
        self._writer.write(socket_frames.encode(ScriptFrame(FrameKind.STOP)))
        async with patiently(within_s):
            while not self.ended:
                await self.read()

    def _check(self, found: Sequence[ScriptFrame]) -> None:
        for frame in found:
            if self.ended or frame.kind not in IN_A_STREAM:
                raise BadFrame(f"a frame {frame.kind} where none belongs")
            self.ended = frame.kind in LAST
            if frame.kind is FrameKind.END:
                self.effort = socket_frames.effort_of(frame)
