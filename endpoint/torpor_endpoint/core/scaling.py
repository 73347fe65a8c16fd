"""Decides how many instances a variant should have, and why. It starts and stops nothing.

A serverless variant, or one with managed scaling, has as many instances as its requests keep busy, between a floor and
a ceiling. With a floor of zero it sleeps by its keep-alive. Every other variant has the number that its configuration
gives. Times are in seconds.
"""

from collections import deque
from dataclasses import dataclass
from math import ceil, inf

from torpor_container.core.keepalive import KeepAlive
from torpor_endpoint.core.resource_records import Serverless, Variant
from torpor_endpoint.core.traffic import Traffic

GROW_S = 6.0
"""How long more requests than the instances should have must be in flight before another instance starts.

It is Knative's panic window. A short burst should wake one instance only: a second one has cold starts of its own.
"""

SHRINK_S = 60.0
"""How long fewer instances must be enough before one leaves. It is Knative's stable window."""


@dataclass(frozen=True)
class InstanceRange:
    """The numbers of instances that a variant may have, and the requests that each should have in flight."""

    floor: int
    ceiling: int
    concurrency: int

    def clamped(self, size: int) -> int:
        """The number in the range that is closest to `size`."""
        return min(max(size, self.floor), self.ceiling)

    def with_at_least(self, size: int) -> "InstanceRange":
        """The range with `size` as the lowest floor, even where that is above the ceiling."""
        return InstanceRange(max(self.floor, size), max(self.ceiling, size), self.concurrency)

    def enough(self, in_flight: float) -> int:
        """The number of instances that these requests in flight need."""
        return self.clamped(ceil(in_flight / self.concurrency))


@dataclass(frozen=True)
class WantedInstances:
    """A number of instances, and the reason in words for a person."""

    size: int
    why: str


def size_range(variant: Variant, concurrency: int) -> InstanceRange | None:
    """The range of a variant that Torpor scales; None for a variant whose configuration gives the number.

    `concurrency` is the number of requests that an instance should have in flight, a setting of the variant.
    """
    if variant.serverless is not None:
        return serverless_range(variant.serverless, concurrency)
    if variant.instances_min is None:
        return None
    floor = variant.instances_min
    return InstanceRange(floor, max(1, floor, variant.instances_max or variant.instance_count), concurrency)


def serverless_range(serverless: Serverless, concurrency: int) -> InstanceRange:
    """The range of a serverless variant: its provisioned concurrency stays awake, and its MaxConcurrency is the most
    that is served at a time."""
    floor = ceil(serverless.provisioned_concurrency / concurrency)
    return InstanceRange(floor, max(1, ceil(serverless.max_concurrency / concurrency)), concurrency)


def may_sleep(variant: Variant) -> bool:
    """Whether the variant has no instance while nobody calls it."""
    if variant.serverless is not None:
        return variant.serverless.provisioned_concurrency == 0
    return variant.instances_min == 0


def may_be_empty(variant: Variant) -> bool:
    """Whether somebody may set the number of instances to zero. The requests of an asynchronous variant wait then."""
    return may_sleep(variant) or (variant.asynchronous is not None and variant.instances_min is None)


def at_start(variant: Variant, concurrency: int) -> int:
    """The instances that creation waits for. A new serverless variant starts one instance to show that it can."""
    allowed = size_range(variant, concurrency)
    if variant.serverless is not None and allowed is not None:
        return max(1, allowed.floor)
    return variant.instance_count if allowed is None else allowed.clamped(variant.instance_count)


def after_update(variant: Variant, concurrency: int, present: int) -> int:
    """The instances of a variant after an update that names no size. The update does not wake a variant that sleeps."""
    allowed = size_range(variant, concurrency)
    return variant.instance_count if allowed is None else allowed.clamped(present)


class Demand:
    """The numbers of requests in flight in the last `SHRINK_S`, with about one sample a second."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def seen(self, in_flight: int, now_s: float) -> None:
        """Add one sample, and forget the samples that are too old."""
        self._samples.append((now_s, in_flight))
        while self._samples and self._samples[0][0] <= now_s - SHRINK_S:
            self._samples.popleft()

    def excess(self, limit: int, span_s: float, now_s: float) -> float:
        """The mean of the last `span_s`, if each of its samples is above the limit; else 0."""
        if not self._samples or self._samples[-1][1] <= limit:
            return 0.0
        inside = [number for at_s, number in self._samples if at_s > now_s - span_s]
        long_enough = self._samples[0][0] <= now_s - span_s + 1.0
        return sum(inside) / len(inside) if long_enough and min(inside, default=0) > limit else 0.0

    def most(self) -> int:
        """The largest sample."""
        return max((number for _, number in self._samples), default=0)

    def settled(self, now_s: float) -> bool:
        """Whether the samples reach back far enough to remove an instance."""
        return bool(self._samples) and self._samples[0][0] <= now_s - SHRINK_S + 2.0


@dataclass(frozen=True)
class KeepAliveState:
    """The keep-alive's verdict: whether the variant should be awake. `due`: because it expects the next call now."""

    awake: bool
    due: bool = False


class Habits:
    """The habits of one variant's callers: what the keep-alive has learned, and the recent demand."""

    def __init__(self, keep_alive: KeepAlive) -> None:
        self._keep_alive = keep_alive
        self._demand = Demand()
        self._resized_s = -inf

    def resized(self, now_s: float) -> None:
        """An update named a size. It counts as a use, and the demand before it no longer matters.

        No instance leaves within the next `SHRINK_S`, and the last one stays until the keep-alive is over.
        """
        self._demand = Demand()
        self._resized_s = now_s

    def wanted(self, allowed: InstanceRange, present: int, traffic: Traffic, now_s: float) -> WantedInstances | None:
        """The number of instances that should replace `present`; None if that is right. Call it about once a second."""
        while traffic.gaps:
            self._keep_alive.used_after(traffic.gaps.popleft())
        self._demand.seen(traffic.demand, now_s)
        nap, idle_s, resized_for_s = self._keep_alive.nap(), traffic.idle_s(now_s), now_s - self._resized_s
        used = bool(traffic.demand) or resized_for_s < SHRINK_S
        rest = KeepAliveState(used or nap.awake(idle_s) or nap.awake(resized_for_s), nap.due(idle_s))
        return desired(allowed, present, rest, self._demand, now_s)

    def quiet_s(self, allowed: InstanceRange, present: int, traffic: Traffic, now_s: float) -> float:
        """Seconds in which `wanted` gives the same number, unless a request comes or ends; 0 if it may differ at
        once."""
        if traffic.gaps or not allowed.floor <= present <= max(1, allowed.floor):
            return 0.0
        if traffic.demand:
            return inf if traffic.demand <= present * allowed.concurrency else 0.0
        nap, resized_for_s = self._keep_alive.nap(), now_s - self._resized_s
        changes_s = (nap.sleep_s, nap.wake_s, nap.until_s)
        idle_s = traffic.idle_s(now_s)
        until = [*(at_s - idle_s for at_s in changes_s), *(at_s - resized_for_s for at_s in (SHRINK_S, *changes_s))]
        return min((left_s for left_s in until if left_s > 0), default=inf)


def desired(
    allowed: InstanceRange, present: int, rest: KeepAliveState, demand: Demand, now_s: float
) -> WantedInstances | None:
    """The number of instances that should replace `present`; None if that is right."""
    if present < allowed.floor:
        return WantedInstances(allowed.floor, "as many are kept awake")
    if not rest.awake and present > allowed.floor:
        return WantedInstances(allowed.floor, "nobody calls")
    if present == 0:  # a request wakes the variant by itself
        return WantedInstances(1, "the next call is expected") if rest.due else None
    busy = demand.excess(present * allowed.concurrency, GROW_S, now_s)
    if allowed.enough(busy) > present:
        return WantedInstances(
            allowed.enough(busy), f"{busy:.0f} requests in flight, {allowed.concurrency} an instance"
        )
    if present <= max(1, allowed.floor) or not demand.settled(now_s):
        return None
    fewest = max(1, allowed.enough(demand.most()))
    if present > fewest:
        return WantedInstances(fewest, f"{demand.most()} requests in flight at most in the last {SHRINK_S:.0f} s")
    return None
