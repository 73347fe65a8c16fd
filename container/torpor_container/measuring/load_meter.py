"""Decides which measurements of memory are valid: a load shows what it added only if nothing else came or went."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Meter:
    """Counts what makes the process larger or smaller now, and so knows which load was alone."""

    def __init__(self) -> None:
        self._open = 0
        self._mixed = False

    @contextmanager
    def window(self) -> Iterator[Callable[[], bool]]:
        """Wrap a load, an unload, or a return of memory. Yields a function: whether it was alone until now."""
        self._mixed = self._open > 0
        self._open += 1
        try:
            yield lambda: not self._mixed and self._open == 1
        finally:
            self._open -= 1
