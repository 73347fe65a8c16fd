"""Counts the requests of one variant, and says which share of them is copied for a shadow variant.

The router writes the numbers; the sizer and the metrics read them.
"""

from collections import deque
from dataclasses import dataclass
from math import inf

GAPS_MAX = 1000


@dataclass(frozen=True)
class ShadowLimits:
    """How many copies one shadow variant has in flight at a time, and bytes of their bodies together. A copy beyond
    that is dropped."""

    requests: int = 256
    bytes: int = 64 * 1024 * 1024


SHADOW_LIMITS = ShadowLimits()


def shadow_share(weight: float, production_weight: float) -> float:
    """The share of requests, from 0 to 1, of which a shadow variant gets a copy.

    `weight` is the shadow variant's, and `production_weight` that of all production variants together. AWS says that
    the weight sets the share, and publishes no formula. In its example both weights are 1, and the shadow variant gets
    every request. So the share is the ratio of the weights, and at most 1.
    """
    if weight <= 0:
        return 0.0
    return 1.0 if weight >= production_weight else weight / production_weight


class Traffic:
    """The requests of one variant. Times are in seconds of the router's clock."""

    def __init__(self) -> None:
        self.in_flight = 0  # being served or held
        self.held = 0
        self.held_bytes = 0
        self.invocations = 0  # since the start; it only grows
        self.last_s = -inf  # when the last request came or ended
        self._since_s: float | None = None  # before the first request: when `idle_s` was first called
        self.gaps: deque[float] = deque(maxlen=GAPS_MAX)  # seconds without a request; the keep-alive takes them out

    def came(self, now_s: float) -> None:
        """Count a request that arrives."""
        if not self.in_flight and self.last_s > -inf:
            self.gaps.append(now_s - self.last_s)
        self.in_flight += 1
        self.invocations += 1
        self.last_s = now_s

    def went(self, now_s: float) -> None:
        """Count a request that ends."""
        self.in_flight -= 1
        self.last_s = now_s

    def idle_s(self, now_s: float) -> float:
        """Seconds since the last request; 0 while one is in flight."""
        if self.in_flight:
            return 0.0
        if self.last_s > -inf:
            return now_s - self.last_s
        if self._since_s is None:  # counts from now; it is no request, so the first request ends no gap
            self._since_s = now_s
        return now_s - self._since_s
