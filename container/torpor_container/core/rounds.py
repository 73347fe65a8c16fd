"""Decides whose request is answered next on one thread: each model has one turn in a round, however many requests wait.

It knows no clock. Threads are shared by time (`turns`); this is for requests that take little time anyway.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Rounds(Generic[T]):
    """Items that wait, by owner. The iterator removes what it yields."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, deque[T]] = OrderedDict()  # the first owner has the next turn

    def add(self, owner: Hashable, item: T) -> None:
        """Put an item behind those of its owner; a new owner goes behind all others."""
        self._waiting.setdefault(owner, deque()).append(item)

    def clear(self) -> None:
        self._waiting.clear()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __iter__(self) -> "Rounds[T]":
        return self

    def __next__(self) -> T:
        if not self._waiting:
            raise StopIteration
        owner, items = self._waiting.popitem(last=False)
        item = items.popleft()
        if items:
            self._waiting[owner] = items
        return item
