"""Decides how long to stay awake without calls, and when to wake before the next one. Values in, values out.

The same policies rule a variant (its instances sleep) and a model (it leaves memory). A policy gets every gap between
two uses and answers a `Nap`, in seconds since the last use ended:

    0 ──── awake ────► sleep_s ──── asleep ────► wake_s ──── awake ────► until_s ──── asleep ────►

Source of the histogram: Shahrad and others, "Serverless in the Wild", USENIX ATC 2020, with FaasCache's simplification
(Fuerst and Sharma, ASPLOS 2021): gaps too few or too irregular fall back to a fixed time, and nothing is forecast.
FaasCache's greedy-dual keep-alive looks at memory and not at time: it is the eviction policy GDSF, without a nap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol


@dataclass(frozen=True)
class Nap:
    """When to sleep and wake after a use. Without a second period awake, `wake_s` and `until_s` are `sleep_s`."""

    sleep_s: float
    wake_s: float
    until_s: float

    def due(self, idle_s: float) -> bool:
        """Whether to be awake because the next use is expected."""
        return self.wake_s < self.until_s and self.wake_s <= idle_s < self.until_s

    def awake(self, idle_s: float) -> bool:
        """Whether to be awake this long after the last use."""
        return idle_s < self.sleep_s or self.wake_s <= idle_s < self.until_s


def once(idle_s: float) -> Nap:
    """Awake for `idle_s` seconds, and then asleep until the next call."""
    return Nap(idle_s, idle_s, idle_s)


class KeepAlive(Protocol):
    """One policy, for one variant or one model."""

    def used_after(self, gap_s: float) -> None:
        """A use came this long after the last one had ended."""

    def nap(self) -> Nap:
        """What to do after the last use."""


class Fixed:
    """The same time after every use."""

    def __init__(self, idle_s: float) -> None:
        self._nap = once(idle_s)

    def used_after(self, gap_s: float) -> None:
        """It learns nothing."""

    def nap(self) -> Nap:
        return self._nap


class Histogram:
    """Learns the gaps: sleeps at once if the next use is far off, wakes shortly before it, and waits for late uses.

    Gaps are counted in bins of `bin_s`. It wakes before the 5th percentile and stays until the 99th, each with a margin
    of 10 %. With fewer than ten gaps, with most of them beyond the bins, or with gaps whose bins' variance is over
    twice their mean, it is `Fixed(fallback_s)`.
    """

    BINS = 240
    HEAD = 0.05
    TAIL = 0.99
    MARGIN = 0.10
    GAPS_MIN = 10
    BEYOND_MAX = 0.5
    DISPERSION_MAX = 2.0

    def __init__(self, fallback_s: float, bin_s: float = 60.0) -> None:
        self._fallback = once(fallback_s)
        self._bin_s = bin_s
        self._counts = [0] * self.BINS
        self._beyond = 0
        self._gaps = 0  # within the bins
        self._mean = 0.0
        self._squares = 0.0  # of the distances from the mean (Welford)
        self._learned: Nap | None = None

    def used_after(self, gap_s: float) -> None:
        self._learned = None
        number = int(gap_s / self._bin_s)
        if number >= self.BINS:
            self._beyond += 1
            return
        self._counts[number] += 1
        self._gaps += 1
        distance = number - self._mean
        self._mean += distance / self._gaps
        self._squares += distance * (number - self._mean)

    def nap(self) -> Nap:
        if self._learned is None:
            self._learned = self._learn() if self._regular() else self._fallback
        return self._learned

    def _regular(self) -> bool:
        if self._gaps < self.GAPS_MIN or self._beyond > self.BEYOND_MAX * (self._gaps + self._beyond):
            return False
        return self._squares / self._gaps <= self.DISPERSION_MAX * self._mean or self._mean < 1

    def _learn(self) -> Nap:
        """The lower edge of the head's bin, the upper edge of the tail's."""
        head_s = self._bin_of(self.HEAD) * self._bin_s * (1 - self.MARGIN)
        tail_s = (self._bin_of(self.TAIL) + 1) * self._bin_s * (1 + self.MARGIN)
        return Nap(0.0, head_s, tail_s) if head_s >= self._bin_s else once(tail_s)

    def _bin_of(self, quantile: float) -> int:
        wanted = quantile * self._gaps
        return next(number for number, gaps in enumerate(accumulate(self._counts)) if gaps >= wanted)


POLICIES: dict[str, Callable[[float], KeepAlive]] = {
    "fixed": Fixed,
    "histogram": Histogram,
}
"""Makers of policies by name. The argument is the fixed time, which is also the histogram's fallback."""


def keep_alive(name: str, idle_s: float) -> KeepAlive:
    """Make the policy of this name. Raises ValueError for an unknown name."""
    if name not in POLICIES:
        raise ValueError(f"must be one of {', '.join(POLICIES)}")
    return POLICIES[name](idle_s)
