"""The body of one request between its connection and its application: what has come, and what is awaited."""

import asyncio
from collections import deque
from collections.abc import Callable

from starlette.types import Message

JOINED_BYTES = 4 * 1024
"""A piece is added to the one before it, as long as that one is smaller: a body in bytes is not as many messages."""


class RequestIntake:
    """A body as it comes. `received` counts its bytes, `held` those that the application has not taken; `whole`: its
    last byte has come. `unasked`: the client waits to be told that it may send (RFC 9110, section 10.1.1)."""

    def __init__(self, unasked: bool, ask: Callable[[], None]) -> None:
        """`ask` tells the client that it may send."""
        self.received = 0
        self.held = 0
        self.whole = False
        self.unasked = unasked
        self._ask = ask
        self._pieces: deque[bytes | bytearray] = deque()
        self._given = False  # the message that ends it
        self._left = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def awaited(self) -> bool:
        """Whether its client is to send more: it was not told to wait, and the application has taken all that came."""
        return not self.unasked and not self.held and not self.whole

    # -- its connection ----------------------------------------------------------------------------------------------
    def feed(self, piece: bytes) -> None:
        self.unasked = False
        self.received += len(piece)
        self.held += len(piece)
        if self._pieces and len(last := self._pieces[-1]) < JOINED_BYTES:
            self._pieces[-1] = last = last if isinstance(last, bytearray) else bytearray(last)
            last += piece
        else:
            self._pieces.append(piece)
        self._wake()

    def end(self) -> None:
        """Its last byte has come."""
        self.whole = True
        self._wake()

    def leave(self) -> None:
        """Its client is gone."""
        self._left = True
        self._wake()

    def drop(self) -> None:
        """Its application has returned, and takes no more of it."""
        self._pieces.clear()
        self.held = 0

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- its application ---------------------------------------------------------------------------------------------
    async def message(self) -> Message:
        """The next message of ASGI: a piece, or that the client is gone."""
        if not self._left and not self._pieces and not self.whole and self.unasked:
            self.unasked = False
            self._ask()
        while not self._left and (self._given or not (self._pieces or self.whole)):
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self._left:
            return {"type": "http.disconnect"}
        piece = bytes(self._pieces.popleft()) if self._pieces else b""
        self.held -= len(piece)
        self._given = self.whole and not self._pieces
        return {"type": "http.request", "body": piece, "more_body": not self._given}
