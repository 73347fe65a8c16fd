"""Whose turn it is where requests are answered one after another: each model has one turn in a round, however many of
its requests wait. It knows no clock: threads are shared by time (`turns`), and this is for what takes little anyway."""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Rounds(Generic[T]):
    """Those who wait, by whose they are. An iterator that takes out what it gives."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, deque[T]] = OrderedDict()  # who is first has the next turn

    def add(self, whose: Hashable, one: T) -> None:
        """Behind its own, and for the first of them behind everybody else's."""
        self._waiting.setdefault(whose, deque()).append(one)

    def clear(self) -> None:
        self._waiting.clear()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __iter__(self) -> "Rounds[T]":
        return self

    def __next__(self) -> T:
        if not self._waiting:
            raise StopIteration
        whose, ones = self._waiting.popitem(last=False)
        one = ones.popleft()
        if ones:
            self._waiting[whose] = ones
        return one
