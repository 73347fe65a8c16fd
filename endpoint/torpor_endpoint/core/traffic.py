"""Counts the requests of one variant. The router writes the numbers; the sizer and the metrics read them."""

from collections import deque
from math import inf

GAPS_MAX = 1000


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
