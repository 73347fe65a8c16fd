"""Tells which measurements of memory can be trusted: a load shows what it added if nothing else came or went."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Meter:
    """Knows of everything that makes the process larger or smaller, and so which load was alone."""

    def __init__(self) -> None:
        self._open = 0
        self._mixed = False

    @contextmanager
    def window(self) -> Iterator[Callable[[], bool]]:
        """Around a load, a departure, or giving memory back. Yields a question: was it alone until now?"""
        self._mixed = self._open > 0
        self._open += 1
        try:
            yield lambda: not self._mixed and self._open == 1
        finally:
            self._open -= 1
