"""Reads off what processes hold often and cheaply: their pages are walked now and then, and counted in between.

A walk over all pages takes milliseconds, and longer with every model in memory. The kernel's own count of anonymous
pages takes microseconds, wherever it is exact; it knows nothing of the pages that are shared with a zygote, so it
tells only how much more or less there is than at the last walk.
"""

from collections.abc import Callable, Iterable

from torpor_container.processes.memory import allocated_bytes, anonymous_bytes, counts_exactly, give_back, uss_bytes

WALKED_FOR_S = 1.0
"""So long a walk is good for. What models take and give back meanwhile is counted; what is not is the few pages shared
with a zygote that become this process's own as they are written to."""


class MemoryGauge:
    """What a process holds by itself, in bytes. Its methods may be called from any thread; a walk blocks."""

    def __init__(self, clock: Callable[[], float], exact: bool | None = None, pid: int | str = "self") -> None:
        """`exact`: whether the kernel's count can be trusted, tried out if nobody says. If not, each look is a walk."""
        self._clock = clock
        self._pid = pid
        self._exact = counts_exactly() if exact is None else exact
        self._walk: tuple[float, int, int] | None = None  # when, what was held, and what was counted

    def used_bytes(self) -> int:
        """The pages that only this process holds; 0 once it is gone."""
        held = self.counted_bytes()
        return self._walked_bytes() if held is None else held

    def counted_bytes(self) -> int | None:
        """The same without a walk; None if one is due."""
        if not self._exact or self._walk is None:
            return None
        at_s, held, then = self._walk
        if self._clock() - at_s >= WALKED_FOR_S:
            return None
        counted = anonymous_bytes(self._pid)
        return held + counted - then if counted else 0

    def last_bytes(self) -> int:
        """About the same, and never a walk: 0 before the first one."""
        if self._walk is None:
            return 0
        _, held, then = self._walk
        return held + anonymous_bytes(self._pid) - then if self._exact else held

    def _walked_bytes(self) -> int:
        counted, now_s = anonymous_bytes(self._pid), self._clock()
        held = uss_bytes(self._pid)
        if counted:
            self._walk = now_s, held, counted
        return held

    def grown(self, by_malloc: bool = False) -> Callable[[], int]:
        """A question: how much has the process grown since this call?

        What malloc holds more, for much of that may be in pages that others left free. Unless all of it is asked of
        malloc (`by_malloc`), or where it does not tell, the pages that came, if they are more: Python's small objects
        are not malloc's. What was freed on the way does not count, for XGBoost's reader takes up to three times what
        the model is; what was free before is given back with it, so that much less of what is not malloc's is seen.
        """
        allocated = allocated_bytes()
        if by_malloc and allocated:
            return lambda: allocated_bytes() - allocated
        read = anonymous_bytes if self._exact else uss_bytes
        pages = read()

        def grown_bytes() -> int:
            held = allocated_bytes() - allocated
            if read() - pages > held:
                give_back()
            return max(read() - pages, held)

        return grown_bytes


class OtherProcesses:
    """What other processes hold, each by a gauge of its own. One thread at a time may ask."""

    def __init__(self, clock: Callable[[], float], exact: bool | None = None) -> None:
        self._clock = clock
        self._exact = counts_exactly() if exact is None else exact
        self._gauges: dict[int, MemoryGauge] = {}

    def used_bytes(self, pids: Iterable[int]) -> int:
        """Of these together; whoever is not among them is forgotten."""
        known = self._gauges
        self._gauges = {pid: known.get(pid) or MemoryGauge(self._clock, self._exact, pid) for pid in pids}
        return sum(gauge.used_bytes() for gauge in self._gauges.values())
