"""Wakes a part that works in the background: operations on any thread notify it that there is something to do."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from threading import Lock


class Wakeup:
    """Wakes one listener on its event loop. Any thread may notify it; without a listener that does nothing."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._notified = asyncio.Event()

    def listen(self) -> None:
        """Listen on the running event loop from now on."""
        self._loop, self._notified = asyncio.get_running_loop(), asyncio.Event()

    def notify(self) -> None:
        """Wake the listener."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(self._notified.set)

    async def wait(self, pause: Awaitable[None]) -> None:
        """Wait until a notification since the last wait, or until the pause is over."""
        waits = [asyncio.ensure_future(self._notified.wait()), asyncio.ensure_future(pause)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        self._notified.clear()


class NameSet:
    """A set of names. Any thread may add to it; `take` empties it."""

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
