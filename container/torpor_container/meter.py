"""Tells which measurements of memory can be trusted: only a load that ran alone shows what it added."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Meter:
    """Tells what one load adds to the process, which only a load that ran alone can show."""

    def __init__(self) -> None:
        self._open = 0
        self._mixed = False

    @contextmanager
    def window(self) -> Iterator[Callable[[], bool]]:
        """Yields a question: did this load run alone until now?"""
        self._mixed = self._open > 0
        self._open += 1
        try:
            yield lambda: not self._mixed and self._open == 1
        finally:
            self._open -= 1
