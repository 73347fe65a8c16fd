"""Decides which measurements of memory are valid: a load shows what it added only if nothing else came or went."""

from collections.abc import Callable


class Meter:
    """Counts what makes the process larger or smaller now, and so knows which load was alone."""

    def __init__(self) -> None:
        self._open = 0
        self._mixed = False

    def window(self) -> "MeterWindow":
        """Wrap a load, an unload, or a return of memory. The block has a function: whether it was alone until now."""
        return MeterWindow(self)

    def begin(self) -> None:
        self._mixed = self._open > 0
        self._open += 1

    def end(self) -> None:
        self._open -= 1

    def is_alone(self) -> bool:
        return not self._mixed and self._open == 1


class MeterWindow:
    """What a meter counts from the begin of a block to its end."""

    __slots__ = ("_meter",)

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __enter__(self) -> Callable[[], bool]:
        self._meter.begin()
        return self._meter.is_alone

    def __exit__(self, *error: object) -> None:
        self._meter.end()
