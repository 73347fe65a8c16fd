"""Room for the bodies of requests that are not whole yet: a bounded sum of them is in memory, and each has its time."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

Scope = MutableMapping[str, Any]

ROOM_BYTES = 64 << 20
"""What all unfinished bodies may hold together. Those for which there is no room wait in line, unread."""

ROOM_WITHIN_S = 30.0
WHOLE_WITHIN_S = 120.0
"""A body that has room must be whole in this time: those in line wait for it."""

STATE = "bodies"
"""Its key in the lifespan's state, which ASGI hands to every request."""


class TooManyBodies(Exception):
    """So many bodies are unfinished that this one was not read."""


class TooSlow(Exception):
    """The body did not come in time."""


class Bodies:
    """Bodies get room in the order in which they ask for it."""

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
        """Read the rest of a body of this size inside. Raises NoRoom or TooSlow."""
        size_bytes = min(size_bytes, self._most_bytes)
        await self._got(size_bytes)
        try:
            async with asyncio.timeout(self._whole_within_s):
                yield
        except TimeoutError:
            raise TooSlow from None
        finally:
            self._free_bytes += size_bytes
            self._serve_line()

    async def _got(self, size_bytes: int) -> None:
        if not self._line and size_bytes <= self._free_bytes:
            self._free_bytes -= size_bytes
            return
        turn = asyncio.get_running_loop().create_future()
        self._line.append((size_bytes, turn))
        try:
            async with asyncio.timeout(self._room_within_s):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._free_bytes += size_bytes  # its turn came at the same moment
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
    """Those of the server that the request came by; any number of them where there is none."""
    found = scope.get("state", {}).get(STATE)
    return found if isinstance(found, Bodies) else Bodies()


def declared_bytes(scope: Scope, otherwise: int) -> int:
    """What the request says of its body's size, or `otherwise` where it does not: it comes in chunks."""
    told = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(told) if told.isdigit() and len(told) < 20 else otherwise
