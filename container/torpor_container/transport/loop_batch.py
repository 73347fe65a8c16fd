"""What comes in one turn of the event loop, as one: what was there to be read, and nobody waits for more."""

import asyncio
from collections.abc import Callable
from sys import maxsize
from threading import local
from typing import Generic, TypeVar

T = TypeVar("T")


class LoopBatch(Generic[T]):
    """Hands on what came, in order: once all that was there has been read, or `size_max` of it."""

    def __init__(self, hand_on: Callable[[list[T]], None], size_max: int = maxsize) -> None:
        """`hand_on` raises nothing."""
        self._hand_on = hand_on
        self._size_max = size_max
        self._came: list[T] = []

    def add(self, one: T, last: bool = False) -> None:
        """`last`: as far as is known nobody else comes, so the turn's end is not waited for."""
        if not self._came and not last:
            _at_the_end(self._end)
        self._came.append(one)
        if last or len(self._came) == self._size_max:
            self._end()

    def taken_back(self) -> list[T]:
        """What came and has not been handed on; it will not be."""
        came, self._came = self._came, []
        return came

    def _end(self) -> None:
        if came := self.taken_back():
            self._hand_on(came)


class BatchScope:
    """What begins while it is entered ends when it is left: who reads several at once knows that no others come."""

    def __enter__(self) -> None:
        self._outer, _this.ends = _this.ends, []

    def __exit__(self, *raised: object) -> None:
        try:
            for end in _this.ends or ():  # one may begin what another one ends
                end()
        finally:
            _this.ends = self._outer


class _Thread(local):
    """Of each event loop's thread: what ends when it has read what is there; None while it reads nothing."""

    ends: "list[Callable[[], None]] | None" = None


_this = _Thread()


def _at_the_end(end: Callable[[], None]) -> None:
    if _this.ends is None:
        asyncio.get_running_loop().call_soon(end)
    else:
        _this.ends.append(end)
