"""Where the copies of inference components stand: on which instance of a variant each is, and what is free there.

It has the instances of a variant whose number follows the copies come with the first copy that needs one, and leave
some time after the last. It starts and stops no copy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from torpor_endpoint.core.resource_records import CopyNeeds, Variant
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.host.launch import Size, size_of

IDLE_S = 600.0
"""How long an instance without copies stays, where their number follows the copies: AWS's blog on scaling to zero says
ten minutes."""


class CopyKey(NamedTuple):
    """One copy: the component, and the slot of the copy among the component's."""

    component: str
    number: int


@dataclass(frozen=True)
class PlacedCopy:
    """What a copy takes, and the slot of its instance."""

    needs: CopyNeeds
    instance: int


class CopyPlaces:
    """The copies on the instances of one variant. `resizing` is called before their number changes."""

    def __init__(self, live: FleetEndpoint, variant: str, resizing: Callable[[], None] = lambda: None) -> None:
        self._live = live
        self._variant = variant
        self._resizing = resizing
        self._placed: dict[CopyKey, PlacedCopy] = {}
        self._empty_since_s: dict[int, float] = {}

    @property
    def capacity(self) -> InstancePool | None:
        """The instances; None once the endpoint does not have them any more."""
        return self._live.pools.get(self._variant)

    def on(self, instance: int) -> list[CopyKey]:
        """The copies on the instance in this slot."""
        return [key for key, placed in self._placed.items() if placed.instance == instance]

    def take(self, needs: CopyNeeds, number: int) -> bool:
        """Place a copy, on an instance more where that is allowed. False where there is no room for it."""
        capacity = self.capacity
        if capacity is None:
            return False
        instance = self._found(capacity, needs)
        if instance is None and self._may_grow(capacity, needs):
            before = set(capacity.numbers)
            self._resizing()
            capacity.scale(capacity.size + 1, f"a copy of {needs.component} needs room")
            instance = next(iter(set(capacity.numbers) - before), None)
        if instance is None:
            return False
        self._placed[CopyKey(needs.component, number)] = PlacedCopy(needs, instance)
        self._empty_since_s.pop(instance, None)
        return True

    def free(self, component: str, number: int) -> None:
        """The copy is gone."""
        self._placed.pop(CopyKey(component, number), None)

    # -- instances that follow the copies ----------------------------------------------------------------------------
    def look(self, now_s: float) -> None:
        """Let instances leave that have had no copy for long. `now_s` is of a clock that only goes forward."""
        capacity = self.capacity
        if capacity is None:
            return
        for number in capacity.numbers:
            if self.on(number):
                self._empty_since_s.pop(number, None)
            else:
                self._empty_since_s.setdefault(number, now_s)
        for number in self._leaving(capacity, now_s):
            self._resizing()
            capacity.retire(number, "it had no copy for ten minutes")
            del self._empty_since_s[number]

    def quiet_s(self, now_s: float) -> float:
        """Seconds in which no instance leaves, if no copy comes or goes."""
        capacity = self.capacity
        if capacity is None or capacity.size <= _least(capacity.variant):
            return inf
        empty = [number for number in capacity.numbers if not self.on(number)]
        return max(0.0, min((self._empty_since_s.get(one, now_s) + IDLE_S - now_s for one in empty), default=inf))

    def _leaving(self, capacity: InstancePool, now_s: float) -> list[int]:
        idle = [number for number, since_s in self._empty_since_s.items() if now_s - since_s >= IDLE_S]
        present = sorted(set(idle).intersection(capacity.numbers), reverse=True)
        surplus = capacity.size - _least(capacity.variant)
        return present[: int(surplus)] if surplus > 0 else []

    # -- room --------------------------------------------------------------------------------------------------------
    def _found(self, capacity: InstancePool, needs: CopyNeeds) -> int | None:
        """The instance for one more copy; None if it fits on none."""
        machine = size_of(capacity.variant)
        fitting = [one for one in capacity.numbers if self._fits(machine, needs, one)]
        if needs.binpack:
            return min(fitting, key=lambda one: (-len(self.on(one)), one), default=None)
        same = {one: sum(key.component == needs.component for key in self.on(one)) for one in fitting}
        return min(fitting, key=lambda one: (same[one], len(self.on(one)), one), default=None)

    def _fits(self, machine: Size, needs: CopyNeeds, instance: int | None) -> bool:
        there = [] if instance is None else [self._placed[key].needs for key in self.on(instance)]
        return (
            sum(one.memory_mib for one in (*there, needs)) <= machine.memory_mib
            and sum(one.cores for one in (*there, needs)) <= machine.vcpu
            and sum(one.accelerators for one in (*there, needs)) <= machine.gpus
        )

    def _may_grow(self, capacity: InstancePool, needs: CopyNeeds) -> bool:
        """Whether one more instance may come, and the copy would fit on it."""
        variant = capacity.variant
        most = variant.instance_count if variant.instances_min is None else variant.instances_max
        more = variant.instances_min is not None and capacity.size < (most or variant.instance_count)
        return more and self._fits(size_of(variant), needs, None)


def _least(variant: Variant) -> float:
    """The fewest instances that a variant has: all, where their number does not follow the copies."""
    return inf if variant.instances_min is None else variant.instances_min
