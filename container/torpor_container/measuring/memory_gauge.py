"""Measures the memory of processes often and cheaply: walks their pages now and then, and counts in between.

A walk over all pages takes milliseconds, and longer with every model in memory. The kernel's own count of anonymous
pages takes microseconds, wherever it is exact. It includes pages that are shared with the zygote, so it shows only how
much more or less there is than at the last walk.
"""

from collections.abc import Callable, Iterable

from torpor_container.processes.memory import allocated_bytes, anonymous_bytes, counts_exactly, give_back, uss_bytes

WALKED_FOR_S = 1.0
"""How long a walk is valid, in seconds. What models take and free meanwhile is counted; not counted are the few pages
shared with the zygote that become this process's own when it writes to them."""


class MemoryGauge:
    """The memory that one process alone holds, in bytes. Any thread may call its methods; a walk blocks."""

    def __init__(self, clock: Callable[[], float], exact: bool | None = None, pid: int | str = "self") -> None:
        """`exact`: whether the kernel's count is exact; None tests it. If it is not, each measurement is a walk."""
        self._clock = clock
        self._pid = pid
        self._exact = counts_exactly() if exact is None else exact
        self._walk: tuple[float, int, int] | None = None  # when, what was held, and what was counted

    def used_bytes(self) -> int:
        """The pages that only this process holds; 0 once it is gone."""
        held = self.counted_bytes()
        return self._walked_bytes() if held is None else held

    def counted_bytes(self) -> int | None:
        """The same, without a walk; None if a walk is due."""
        if not self._exact or self._walk is None:
            return None
        at_s, held, then = self._walk
        if self._clock() - at_s >= WALKED_FOR_S:
            return None
        counted = anonymous_bytes(self._pid)
        return held + counted - then if counted else 0

    def last_bytes(self) -> int:
        """About the same, never by a walk; 0 before the first walk."""
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
        """A function that returns by how many bytes the process has grown since this call.

        The growth is that of malloc's blocks, since new blocks may lie in pages that were free before. Python's small
        objects are not malloc's: unless all memory comes from malloc (`by_malloc`), the growth in pages counts if it is
        more, and also where malloc has no figures. Freed memory is returned first and does not count, since XGBoost's
        reader takes up to three times the model's size. Memory that was free before is returned too, so the growth in
        pages comes out too small by that.
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
    """The memory of other processes, each with a gauge of its own. For one thread at a time."""

    def __init__(self, clock: Callable[[], float], exact: bool | None = None) -> None:
        self._clock = clock
        self._exact = counts_exactly() if exact is None else exact
        self._gauges: dict[int, MemoryGauge] = {}

    def used_bytes(self, pids: Iterable[int]) -> int:
        """The bytes of these processes together. Forgets all others."""
        known = self._gauges
        self._gauges = {pid: known.get(pid) or MemoryGauge(self._clock, self._exact, pid) for pid in pids}
        return sum(gauge.used_bytes() for gauge in self._gauges.values())
