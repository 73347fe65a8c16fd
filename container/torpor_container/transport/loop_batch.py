"""Gathers what comes in one round of the event loop, and hands it on together.

asyncio serves all sockets that are ready before it runs what `call_soon` planned. So a batch that is handed on by
`call_soon` holds all that was there to be read, and waits for nothing that is not there: requests of one round leave in
one write, or share one prediction, and none is delayed for the sake of those that may come.

A reader that finds several requests in one read knows more than the event loop: once it has read them, no others come
in this round. It reads within a `BatchScope`, and batches end with the scope.
"""

import asyncio
from collections.abc import Callable
from sys import maxsize
from threading import local
from typing import Generic, TypeVar

T = TypeVar("T")


class LoopBatch(Generic[T]):
    """Hands on what was added, in order: at the round's end, or earlier as soon as there are `size_max`."""

    def __init__(self, hand_on: Callable[[list[T]], None], size_max: int = maxsize) -> None:
        """`hand_on` raises nothing."""
        self._hand_on = hand_on
        self._size_max = size_max
        self._items: list[T] = []

    def add(self, item: T, last: bool = False) -> None:
        """`last`: the caller expects no others, so all that is here goes on at once."""
        if not self._items:
            if last:
                self._hand_on([item])
                return
            _at_the_end(self._end)
        self._items.append(item)
        if last or len(self._items) == self._size_max:
            self._end()

    def take_back(self) -> list[T]:
        """What was added and not handed on. It will not be."""
        items, self._items = self._items, []
        return items

    def _end(self) -> None:
        if items := self.take_back():
            self._hand_on(items)


class BatchScope:
    """Batches that begin within it end as it is left, and not at the round's end."""

    def __enter__(self) -> None:
        self._outer, _this.ends = _this.ends, []

    def __exit__(self, *raised: object) -> None:
        try:
            for end in _this.ends or ():  # the list may grow meanwhile: one batch may add to another
                end()
        finally:
            _this.ends = self._outer


class _Thread(local):
    """The innermost scope of each event loop's thread: what ends with it. None outside of all scopes."""

    ends: "list[Callable[[], None]] | None" = None


_this = _Thread()


def _at_the_end(end: Callable[[], None]) -> None:
    if _this.ends is None:
        asyncio.get_running_loop().call_soon(end)
    else:
        _this.ends.append(end)
