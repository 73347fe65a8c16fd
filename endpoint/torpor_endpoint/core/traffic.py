"""What the callers of one variant do, as the router sees it: numbers that others read, and no decision."""

from collections import deque
from math import inf

GAPS_MAX = 1000


class Traffic:
    """Times are of the router's clock, in seconds."""

    def __init__(self) -> None:
        self.in_flight = 0  # being served or held
        self.held = 0
        self.held_bytes = 0
        self.invocations = 0  # since the start; it only grows
        self.last_s = -inf  # when the last one came or ended
        self._since_s: float | None = None  # when somebody first asked how long nobody has called
        self.gaps: deque[float] = deque(maxlen=GAPS_MAX)  # between the end of one use and the next, not looked at yet

    def came(self, now_s: float) -> None:
        if not self.in_flight and self.last_s > -inf:
            self.gaps.append(now_s - self.last_s)
        self.in_flight += 1
        self.invocations += 1
        self.last_s = now_s

    def went(self, now_s: float) -> None:
        self.in_flight -= 1
        self.last_s = now_s

    def idle_s(self, now_s: float) -> float:
        """For how long nobody has called; 0 while somebody does."""
        if self.in_flight:
            return 0.0
        if self.last_s > -inf:
            return now_s - self.last_s
        if self._since_s is None:  # from now on it counts, and is no use: the first call ends no gap
            self._since_s = now_s
        return now_s - self._since_s
