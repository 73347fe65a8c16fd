"""The bytes of one connection, either way, at the pace of the slower end."""

import asyncio
from contextlib import suppress

HELD_MAX_BYTES = 256 * 1024
"""So much is held that nobody has taken. Beyond that, the socket is not read until half of it is gone."""


class PacedStream(asyncio.Protocol):
    """The stream. `closed`: nothing more is written; `write_paused`: its client reads less than was written, and
    `reading_paused`: more has come than was taken."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.closed = False
        self.write_paused = False
        self.reading_paused = False
        self._loop = loop
        self._writable: asyncio.Future[None] | None = None

    # -- to its client -----------------------------------------------------------------------------------------------
    def write(self, data: bytes) -> None:
        """A client that is gone is no error."""
        if not self.closed and not self.transport.is_closing():
            self.transport.write(data)

    def close(self) -> None:
        """Close once all that was written has left.

        The client is told first that no more will come: where some of what it sent was not read, the system resets the
        connection, and the client could not tell the answer's end from a fault.
        """
        if self.closed:
            return
        self.closed = True
        with suppress(OSError, RuntimeError):
            if self.transport.can_write_eof():
                self.transport.write_eof()
        self.transport.close()

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        """Called too when the client is gone: it will never read."""
        self.write_paused = False
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    async def writable(self) -> None:
        """Wait until the client has read enough, or is gone. One may wait at a time."""
        while self.write_paused:
            self._writable = self._loop.create_future()
            try:
                await self._writable
            finally:
                self._writable = None

    # -- from its client ---------------------------------------------------------------------------------------------
    def hold(self, held_bytes: int) -> None:
        """So much is held."""
        if held_bytes > HELD_MAX_BYTES and not self.reading_paused and not self.closed:
            self.reading_paused = True
            self.transport.pause_reading()
        elif self.reading_paused and held_bytes <= HELD_MAX_BYTES // 2 and not self.closed:
            self.reading_paused = False
            self.transport.resume_reading()
