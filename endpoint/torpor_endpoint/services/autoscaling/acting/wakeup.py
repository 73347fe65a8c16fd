"""How operations, on any thread, tell whoever scales that there is something to do now, and for which targets."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from threading import Lock


class Wakeup:
    """One listener, on its event loop; rung by anybody. Without a listener nobody hears it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rung = asyncio.Event()

    def listen(self) -> None:
        self._loop, self._rung = asyncio.get_running_loop(), asyncio.Event()

    def ring(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(self._rung.set)

    async def heard(self, pause: Awaitable[None]) -> None:
        """Wait until it has been rung since the last time, or the pause is over."""
        waits = [asyncio.ensure_future(self._rung.wait()), asyncio.ensure_future(pause)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        self._rung.clear()


class NameSet:
    """A set of names that any thread adds to, and that is taken as a whole."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._lock = Lock()

    def add(self, name: str) -> None:
        with self._lock:
            self._names.add(name)

    def take(self) -> set[str]:
        with self._lock:
            names, self._names = self._names, set()
            return names
