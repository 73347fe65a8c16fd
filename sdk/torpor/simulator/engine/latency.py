"""How long requests took, kept in bins: quantiles to one part in two hundred, in memory that does not grow."""

from math import inf

import numpy as np
from numpy.typing import NDArray

from torpor.validation import NUMBER, ValueRule, check

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BINS_PER_E = 200
"""A bin is half a percent wide."""
LEAST_S, MOST_S = 1e-6, 1e6
"""Whoever is faster or slower than these counts as the end that he is beyond; the extremes are kept as they were."""

EXACT = 1e-12
"""What binary fractions are off by: 7 % of 100 requests are 7, and not a trifle more."""
QUANTILE = (NUMBER, ValueRule("is from 0 to 1", lambda share: 0 <= share <= 1))

_FIRST = float(np.log(LEAST_S))
_BINS = int(np.ceil((np.log(MOST_S) - _FIRST) * BINS_PER_E)) + 1


class Latencies:
    """Of some requests, in seconds. They add up."""

    def __init__(self) -> None:
        self.count = 0
        self.total_s = 0.0
        self.least_s, self.most_s = inf, 0.0
        self._bins: Counts = np.zeros(_BINS, np.int64)

    def __repr__(self) -> str:
        return f"Latencies(count={self.count}, p50={self.quantile(0.5):.4g} s, p99={self.quantile(0.99):.4g} s)"

    def add(self, seconds: Floats) -> None:
        """More of them, in no order."""
        if not len(seconds):
            return
        places = (np.log(np.clip(seconds, LEAST_S, MOST_S)) - _FIRST) * BINS_PER_E
        self._bins += np.bincount(places.astype(np.intp), minlength=_BINS)
        self.count += len(seconds)
        self.total_s += float(seconds.sum())
        self.least_s = min(self.least_s, float(seconds.min()))
        self.most_s = max(self.most_s, float(seconds.max()))

    def __add__(self, other: "Latencies") -> "Latencies":
        both = Latencies()
        both.count, both.total_s = self.count + other.count, self.total_s + other.total_s
        both.least_s, both.most_s = min(self.least_s, other.least_s), max(self.most_s, other.most_s)
        both._bins = self._bins + other._bins
        return both

    @property
    def mean_s(self) -> float:
        """0 of nobody."""
        return self.total_s / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """The time within which this share of the requests was served: 0.99 for the p99. 0 of nobody."""
        check(ValueError, {"a quantile": QUANTILE}, {"a quantile": share})
        if not self.count:
            return 0.0
        rank = int(np.ceil(share * self.count * (1 - EXACT)))
        if rank >= self.count:
            return self.most_s
        if rank <= 1:
            return self.least_s
        place = int(np.searchsorted(np.cumsum(self._bins), rank))
        return float(np.clip(_middle_s(np.array([place]))[0], self.least_s, self.most_s))

    def within(self, seconds: float) -> int:
        """How many were served within this time. Those in its own bin count as served: half a percent is forgiven."""
        if seconds >= self.most_s:
            return self.count
        if seconds < self.least_s:
            return 0
        place = int((np.log(np.clip(seconds, LEAST_S, MOST_S)) - _FIRST) * BINS_PER_E)
        return int(self._bins[: place + 1].sum())

    def share_within(self, seconds: float) -> float:
        """The part of the requests that were served within this time. 1 of nobody."""
        return self.within(seconds) / self.count if self.count else 1.0

    def cdf(self) -> tuple[Floats, Floats]:
        """Seconds, ascending and above 0, and the share of the requests that took at most so long."""
        used = np.flatnonzero(self._bins)
        seconds = np.maximum(np.clip(_middle_s(used), self.least_s, self.most_s), LEAST_S)
        return seconds, np.cumsum(self._bins[used]) / max(1, self.count)


def _middle_s(places: NDArray[np.intp]) -> Floats:
    middle: Floats = np.exp(_FIRST + (places + 0.5) / BINS_PER_E)
    return middle
