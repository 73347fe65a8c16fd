"""What comes in one turn of the event loop, as one: all that was there to be read, and nobody waits for more."""

import asyncio
from collections.abc import Callable
from sys import maxsize
from typing import Generic, TypeVar

T = TypeVar("T")


class OneTurn(Generic[T]):
    """Hands on what came, in order and at most `size_max` at a time, once all that was there has been read."""

    def __init__(self, hand_on: Callable[[list[T]], None], size_max: int = maxsize) -> None:
        """`hand_on` raises nothing."""
        self._hand_on = hand_on
        self._size_max = size_max
        self._came: list[T] = []

    def add(self, one: T, last: bool = False) -> None:
        """`last`: as far as is known nobody else comes, so the turn's end is not waited for."""
        if not self._came and not last:
            asyncio.get_running_loop().call_soon(self._end)
        self._came.append(one)
        if last:
            self._end()

    def _end(self) -> None:
        came, self._came = self._came, []
        for start in range(0, len(came), self._size_max):
            self._hand_on(came[start : start + self._size_max])
