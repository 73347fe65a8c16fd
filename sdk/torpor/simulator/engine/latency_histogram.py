"""A histogram of latencies: quantiles are exact to half a percent, and memory does not grow with the requests."""

from math import inf

import numpy as np
from numpy.typing import NDArray

from torpor.value_rules import NUMBER, ValueRule, check

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BINS_PER_E = 200
"""A bin is half a percent wide."""
LEAST_S, MOST_S = 1e-6, 1e6
"""The range of the bins. A latency outside it counts in the first or last bin; the least and the most are exact."""

EXACT = 1e-12
"""The tolerance for binary fractions: 7 % of 100 requests are 7, and not a little more."""
QUANTILE = (NUMBER, ValueRule("is from 0 to 1", lambda share: 0 <= share <= 1))

_FIRST = float(np.log(LEAST_S))
_BINS = int(np.ceil((np.log(MOST_S) - _FIRST) * BINS_PER_E)) + 1


class Latencies:
    """The latencies of some requests, in seconds. Two of them can be added."""

    def __init__(self) -> None:
        self.count = 0
        self.total_s = 0.0
        self.least_s, self.most_s = inf, 0.0
        self._bins: Counts = np.zeros(_BINS, np.int64)

    def __repr__(self) -> str:
        return f"Latencies(count={self.count}, p50={self.quantile(0.5):.4g} s, p99={self.quantile(0.99):.4g} s)"

    def add(self, seconds: Floats) -> None:
        """Count more latencies, in any order."""
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
        """The mean; 0 without requests."""
        return self.total_s / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """The time within which this share of the requests was served: 0.99 for the p99. 0 without requests."""
        check(ValueError, {"a quantile": QUANTILE}, {"a quantile": share})
        if not self.count:
            return 0.0
        rank = int(np.ceil(share * self.count * (1 - EXACT)))
        if rank >= self.count:
            return self.most_s
        if rank <= 1:
            return self.least_s
        place = int(np.searchsorted(np.cumsum(self._bins), rank))
        return float(np.clip(_bin_middle_s(np.array([place]))[0], self.least_s, self.most_s))

    def within(self, seconds: float) -> int:
        """The number of requests that took at most this time. The whole bin of this time counts: up to half a percent
        more."""
        if seconds >= self.most_s:
            return self.count
        if seconds < self.least_s:
            return 0
        place = int((np.log(np.clip(seconds, LEAST_S, MOST_S)) - _FIRST) * BINS_PER_E)
        return int(self._bins[: place + 1].sum())

    def share_within(self, seconds: float) -> float:
        """The share of the requests that took at most this time. 1 without requests."""
        return self.within(seconds) / self.count if self.count else 1.0

    def cdf(self) -> tuple[Floats, Floats]:
        """The distribution: ascending seconds above 0, and for each the share of the requests that took at most so
        long."""
        used = np.flatnonzero(self._bins)
        seconds = np.maximum(np.clip(_bin_middle_s(used), self.least_s, self.most_s), LEAST_S)
        return seconds, np.cumsum(self._bins[used]) / max(1, self.count)


def _bin_middle_s(places: NDArray[np.intp]) -> Floats:
    middle: Floats = np.exp(_FIRST + (places + 0.5) / BINS_PER_E)
    return middle
