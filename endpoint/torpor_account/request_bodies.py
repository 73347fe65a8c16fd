"""Bounds the memory and the time of request bodies that have not arrived in full."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

Scope = MutableMapping[str, Any]

ROOM_BYTES = 64 << 20
"""The memory of all unfinished bodies together. A body for which there is no room waits in line, unread."""

ROOM_WITHIN_S = 30.0
"""How long a body waits for room."""
WHOLE_WITHIN_S = 120.0
"""How long a body that has room may take to arrive in full, because others wait for its room."""

STATE = "bodies"
"""The key of `Bodies` in the lifespan's state, which ASGI hands to every request."""


class TooManyBodies(Exception):
    """The unfinished bodies left no room for this one."""


class TooSlow(Exception):
    """The body did not arrive in full in time."""


class Bodies:
    """Gives room to bodies in the order in which they ask for it. Sizes are in bytes, times in seconds."""

    def __init__(
        self, room_bytes: int = ROOM_BYTES, room_within_s: float = ROOM_WITHIN_S, whole_within_s: float = WHOLE_WITHIN_S
    ) -> None:
        self._free_bytes = room_bytes
        self._most_bytes = room_bytes
        self._room_within_s = room_within_s
        self._whole_within_s = whole_within_s
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def room(self, size_bytes: int) -> AsyncIterator[None]:
        """Wait for room; read the rest of a body of this size inside. Raises TooManyBodies or TooSlow."""
        size_bytes = min(size_bytes, self._most_bytes)
        await self._take(size_bytes)
        try:
            async with asyncio.timeout(self._whole_within_s):
                yield
        except TimeoutError:
            raise TooSlow from None
        finally:
            self._free_bytes += size_bytes
            self._serve_line()

    async def _take(self, size_bytes: int) -> None:
        if not self._line and size_bytes <= self._free_bytes:
            self._free_bytes -= size_bytes
            return
        turn = asyncio.get_running_loop().create_future()
        self._line.append((size_bytes, turn))
        try:
            async with asyncio.timeout(self._room_within_s):
                await turn
        except (TimeoutError, asyncio.CancelledError) as error:  # its place in the line is given up
            if turn.done() and not turn.cancelled():
                self._free_bytes += size_bytes  # it got room at the same moment
            self._line = deque(one for one in self._line if one[1] is not turn)
            self._serve_line()
            if isinstance(error, TimeoutError):
                raise TooManyBodies from None
            raise

    def _serve_line(self) -> None:
        while self._line and (self._line[0][1].done() or self._line[0][0] <= self._free_bytes):
            size_bytes, turn = self._line.popleft()
            if not turn.done():
                self._free_bytes -= size_bytes
                turn.set_result(None)


def bodies_of(scope: Scope) -> Bodies:
    """The `Bodies` of the server that took the request. A request without a server gets room of its own."""
    found = scope.get("state", {}).get(STATE)
    return found if isinstance(found, Bodies) else Bodies()


def declared_bytes(scope: Scope, otherwise: int) -> int:
    """The Content-Length of the request, or `otherwise` for a body in chunks, which has none."""
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(length) if length.isdigit() and len(length) < 20 else otherwise
