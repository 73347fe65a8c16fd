"""Ends a connection on which no request has come for the keep-alive time."""

import asyncio
from collections.abc import Callable


class IdleTimer:
    """One connection's. `since_s`: when its last answer was given. One timer serves all of its requests, since setting
    one after each of them would cost more."""

    def __init__(self, loop: asyncio.AbstractEventLoop, after_s: float, close_if_idle: Callable[[], None]) -> None:
        self.since_s = loop.time()
        self.runs = False
        self._loop = loop
        self._after_s = after_s
        self._close_if_idle = close_if_idle
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._set(self._after_s)

    def end(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _set(self, in_s: float) -> None:
        self.runs = True
        self._handle = self._loop.call_later(in_s, self._look)

    def _look(self) -> None:
        left_s = self.since_s + self._after_s - self._loop.time()
        if left_s <= 0:
            self._close_if_idle()
        self._set(left_s if left_s > 0 else self._after_s)
