"""How many instances a variant should have, and why. It counts; it starts and stops nothing.

Serverless variants and those with managed scaling have as many as their callers keep busy, between a floor and a
ceiling; at a floor of zero they sleep by their keep-alive. All others have the number that they were given.
"""

from collections import deque
from dataclasses import dataclass
from math import ceil, inf

from torpor_container.core.keepalive import KeepAlive
from torpor_endpoint.core.records import Variant
from torpor_endpoint.core.traffic import Traffic

GROW_S = 6.0
"""How long more must be in flight than the instances are meant to have before another is started: a burst that wakes a
variant is one wake, and a second instance costs cold starts of its own. Knative's panic window."""

SHRINK_S = 60.0
"""How long fewer must be enough before one goes. Knative's stable window."""


@dataclass(frozen=True)
class InstanceRange:
    """How many there may be, and how many requests each is meant to have in flight."""

    floor: int
    ceiling: int
    concurrency: int

    def clamped(self, size: int) -> int:
        return min(max(size, self.floor), self.ceiling)

    def with_at_least(self, size: int) -> "InstanceRange":
        """The same where no fewer than this may be, even if that is more than the ceiling."""
        return InstanceRange(max(self.floor, size), max(self.ceiling, size), self.concurrency)

    def enough(self, in_flight: float) -> int:
        return self.clamped(ceil(in_flight / self.concurrency))


@dataclass(frozen=True)
class WantedInstances:
    """So many, and the reason for a person to read."""

    size: int
    why: str


def size_range(variant: Variant, concurrency: int) -> InstanceRange | None:
    """None where the number is given and not ours to choose. `concurrency` is how many requests in flight an instance
    is meant to have: a setting of the variant."""
    if variant.serverless is not None:
        provisioned = ceil(variant.serverless.provisioned_concurrency / concurrency)
        return InstanceRange(provisioned, max(1, ceil(variant.serverless.max_concurrency / concurrency)), concurrency)
    if variant.instances_min is None:
        return None
    floor = variant.instances_min
    return InstanceRange(floor, max(1, floor, variant.instances_max or variant.instance_count), concurrency)


def may_sleep(variant: Variant) -> bool:
    """Whether the variant may have no instance at all."""
    if variant.serverless is not None:
        return variant.serverless.provisioned_concurrency == 0
    return variant.instances_min == 0


def at_start(variant: Variant, concurrency: int) -> int:
    """Instances that creation waits for. A new serverless variant shows once that it can wake."""
    allowed = size_range(variant, concurrency)
    if variant.serverless is not None and allowed is not None:
        return max(1, allowed.floor)
    return variant.instance_count if allowed is None else allowed.clamped(variant.instance_count)


def after_update(variant: Variant, concurrency: int, present: int) -> int:
    """Instances of a variant that stays what it is through an update: one that sleeps is not woken for it."""
    allowed = size_range(variant, concurrency)
    return variant.instance_count if allowed is None else allowed.clamped(present)


class Demand:
    """What was in flight lately, as it was looked at: one number each second or so."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def seen(self, in_flight: int, now_s: float) -> None:
        self._samples.append((now_s, in_flight))
        while self._samples and self._samples[0][0] <= now_s - SHRINK_S:
            self._samples.popleft()

    def excess(self, limit: int, span_s: float, now_s: float) -> float:
        """The mean over the last `span_s`, if more than the limit was in flight for all of it; else 0."""
        if not self._samples or self._samples[-1][1] <= limit:
            return 0.0
        inside = [number for at_s, number in self._samples if at_s > now_s - span_s]
        long_enough = self._samples[0][0] <= now_s - span_s + 1.0
        return sum(inside) / len(inside) if long_enough and min(inside, default=0) > limit else 0.0

    def most(self) -> int:
        return max((number for _, number in self._samples), default=0)

    def settled(self, now_s: float) -> bool:
        """Whether enough was seen to let an instance go."""
        return bool(self._samples) and self._samples[0][0] <= now_s - SHRINK_S + 2.0


@dataclass(frozen=True)
class KeepAliveState:
    """What its keep-alive says: to be awake, and whether that is because the next call is expected."""

    awake: bool
    due: bool = False


class Habits:
    """One variant's callers: their keep-alive, and what they had in flight lately."""

    def __init__(self, keep_alive: KeepAlive) -> None:
        self._keep_alive = keep_alive
        self._demand = Demand()
        self._told_s = -inf

    def told(self, now_s: float) -> None:
        """Somebody named a size. It is a use, and what was in flight before says nothing against it: none of its
        instances goes for `SHRINK_S`, nor the last before its keep-alive is over."""
        self._demand = Demand()
        self._told_s = now_s

    def wanted(self, allowed: InstanceRange, present: int, traffic: Traffic, now_s: float) -> WantedInstances | None:
        """What there should be instead of what there is; None if that is right. To be asked once a second or so."""
        while traffic.gaps:
            self._keep_alive.used_after(traffic.gaps.popleft())
        self._demand.seen(traffic.in_flight, now_s)
        nap, idle_s, told_s = self._keep_alive.nap(), traffic.idle_s(now_s), now_s - self._told_s
        used = bool(traffic.in_flight) or told_s < SHRINK_S
        rest = KeepAliveState(used or nap.awake(idle_s) or nap.awake(told_s), nap.due(idle_s))
        return desired(allowed, present, rest, self._demand, now_s)


def desired(
    allowed: InstanceRange, present: int, rest: KeepAliveState, demand: Demand, now_s: float
) -> WantedInstances | None:
    """What there should be instead of what there is; None if that is right."""
    if present < allowed.floor:
        return WantedInstances(allowed.floor, "as many are kept awake")
    if not rest.awake and present > allowed.floor:
        return WantedInstances(allowed.floor, "nobody calls")
    if present == 0:  # whoever calls wakes it by himself
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
