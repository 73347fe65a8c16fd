"""Counts the requests of one variant, and says which share of them is copied for a shadow variant.

The router writes the numbers; the sizer and the metrics read them.
"""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

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


class TrafficReport(NamedTuple):
    """The requests of one variant at another router, as that router counts them."""

    in_flight: int = 0
    held: int = 0
    invocations: int = 0  # since that router's start
    idle_s: float = inf  # since the last one came or ended there


NO_TRAFFIC = TrafficReport()
Touched = dict[Hashable, None]
"""The owners of traffic that has changed since a reader last emptied it: nobody has to look at the others."""


class Traffic:
    """The requests of one variant, those at other routers among them. Times are in seconds of the router's clock. What
    comes and goes at this router puts the `owner` into `touched`."""

    def __init__(self, touched: Touched | None = None, owner: Hashable = None) -> None:
        self._touched: Touched = {} if touched is None else touched
        self._owner = owner
        self.in_flight = 0  # being served or held
        self.elsewhere = 0  # of those in flight: at other routers
        self.queued = 0  # asynchronous requests that wait for their turn
        self.held = 0
        self.held_bytes = 0
        self.invocations = 0  # since the start; it only grows
        self.invocations_elsewhere = 0  # of those: at other routers
        self.last_s = -inf  # when the last request came or ended
        self._since_s: float | None = None  # before the first request: when `idle_s` was first called
        self.gaps: deque[float] = deque(maxlen=GAPS_MAX)  # seconds without a request; the keep-alive takes them out

    @property
    def demand(self) -> int:
        """The requests that need an instance."""
        return self.in_flight + self.queued

    def came(self, now_s: float) -> None:
        """Count a request that arrives."""
        if not self.in_flight and self.last_s > -inf:
            self.gaps.append(now_s - self.last_s)
        self.in_flight += 1
        self.invocations += 1
        self.last_s = now_s
        self._touched[self._owner] = None

    def went(self, now_s: float) -> None:
        """Count a request that ends."""
        self.in_flight -= 1
        self.last_s = now_s
        self._touched[self._owner] = None

    def hold(self, size_bytes: int) -> None:
        """One more of the requests in flight is held, with a body of this size."""
        self.held += 1
        self.held_bytes += size_bytes
        self.touch()

    def release(self, size_bytes: int) -> None:
        """It is held no longer."""
        self.held -= 1
        self.held_bytes -= size_bytes
        self.touch()

    def touch(self) -> None:
        """Something that is reported with the requests has changed."""
        self._touched[self._owner] = None

    def reported(self, before: TrafficReport, after: TrafficReport, now_s: float) -> None:
        """Count what a router reports now, in place of what it reported before."""
        last_s = now_s - after.idle_s
        if not self.in_flight and after.invocations > before.invocations and -inf < self.last_s < last_s:
            self.gaps.append(last_s - self.last_s)
        self.in_flight += after.in_flight - before.in_flight
        self.elsewhere += after.in_flight - before.in_flight
        self.held += after.held - before.held
        more = max(0, after.invocations - before.invocations)
        self.invocations += more
        self.invocations_elsewhere += more
        self.last_s = max(self.last_s, now_s if after.in_flight else last_s)

    def left(self, before: TrafficReport, now_s: float) -> None:
        """Count no longer what a router reported that has stopped."""
        self.in_flight -= before.in_flight
        self.elsewhere -= before.in_flight
        self.held -= before.held
        if before.in_flight:
            self.last_s = max(self.last_s, now_s)

    def report(self, now_s: float) -> TrafficReport:
        """What this router reports of its own requests."""
        idle_s = inf if self.last_s == -inf else 0.0 if self.in_flight else max(0.0, now_s - self.last_s)
        return TrafficReport(self.in_flight, self.held, self.invocations, idle_s)

    def idle_s(self, now_s: float) -> float:
        """Seconds since the last request; 0 while one is in flight or waits."""
        if self.demand:
            return 0.0
        if self.last_s > -inf:
            return now_s - self.last_s
        if self._since_s is None:  # counts from now; it is no request, so the first request ends no gap
            self._since_s = now_s
        return now_s - self._since_s
