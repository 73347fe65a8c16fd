"""Where the copies of inference components stand: on which instance of a variant each is, and what is free there.

`core.packing` decides. Here instances come with the first copy that needs one, where their number follows the copies,
and leave when it says so. It starts and stops no copy.
"""

from collections.abc import Callable
from math import inf

from torpor_endpoint.core.components.component_records import PlacementStrategy
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount, schedulable
from torpor_endpoint.core.packing.copy_placement import place
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedCopy, PackedInstance
from torpor_endpoint.core.packing.scale_in_plans import CopyMove, quiet_until_s, scale_in, shrink
from torpor_endpoint.core.resource_records import CopyNeeds, Variant
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.host.launch import size_of

IDLE = "it had no copy for ten minutes"
SURPLUS = "an update asks for fewer instances"
SHRINK_PAUSE_S = 30.0
"""Before copies are moved again from instances that are to leave."""


class CopyPlaces:
    """The copies on the instances of one variant. `resized` is called with their new number. `strict`: copies may have
    of an instance what they have on AWS. Who waits for room adds itself to `freed`, and is called once."""

    def __init__(
        self,
        live: FleetEndpoint,
        variant: str,
        resized: Callable[[int], None] = lambda size: None,
        *,
        strict: bool = False,
    ) -> None:
        self._live = live
        self._variant = variant
        self._resized = resized
        self.freed: list[Callable[[], None]] = []
        self._leaving: set[CopyId] = set()
        self._strict = strict
        self._placed: dict[CopyId, tuple[PackedCopy, int]] = {}
        self._empty_since_s: dict[int, float] = {}
        self._changed_s = -inf  # when a copy or an instance last came or went, as far as `look` has seen it
        self._seen: tuple[object, ...] = ()
        self._shrunk_s = -inf  # when copies were last told to move from instances that are to leave

    @property
    def capacity(self) -> InstancePool | None:
        """The instances; None once the endpoint does not have them any more."""
        found = self._live.pools.get(self._variant)
        if found is not None:
            found.occupied = self._occupied
        return found

    def take(self, needs: CopyNeeds, number: int, instance: int | None = None) -> bool:
        """Place a copy, on this instance if one is named, and else on an instance more where that is allowed. False
        where there is no room for it."""
        capacity = self.capacity
        if capacity is None:
            return False
        copy, present = packed(needs, number), self.instances(capacity)
        found = place(copy, [one for one in present if instance in (None, one.number)])
        if found is None and instance is None and self._may_grow(capacity, copy):
            before = set(capacity.numbers)
            capacity.scale(capacity.size + 1, f"a copy of {needs.component} needs room")
            self._resized(capacity.size)
            found = next(iter(set(capacity.numbers) - before), None)
        if found is None:
            return False
        self._placed[copy.name] = copy, found
        self._empty_since_s.pop(found, None)
        return True

    def free(self, component: str, number: int) -> None:
        """The copy is gone."""
        self._placed.pop(CopyId(component, number), None)
        self._leaving.discard(CopyId(component, number))
        waiting, self.freed = self.freed, []
        for again in waiting:
            again()

    def leave(self, component: str, number: int) -> None:
        """The copy is no longer wanted. It has its place until it is gone."""
        self._leaving.add(CopyId(component, number))

    @property
    def leaving(self) -> bool:
        """Whether a copy has a place that it will give back."""
        return not self._leaving.isdisjoint(self._placed)

    def instances(self, capacity: InstancePool) -> list[PackedInstance]:
        """The instances that are wanted, with their copies."""
        size, held = self._size(capacity.variant), dict[int, list[PackedCopy]]()
        for copy, instance in self._placed.values():
            held.setdefault(instance, []).append(copy)
        return [
            PackedInstance(
                number,
                size,
                tuple(held.get(number, ())),
                capacity.variant.instance_type,
                self._empty_since_s.get(number),
            )
            for number in capacity.numbers
        ]

    # -- instances that follow the copies ----------------------------------------------------------------------------
    def look(self, now_s: float) -> tuple[CopyMove, ...]:
        """Let instances leave that have had no copy for long. Returns the copies that are to move, so that others
        become empty. `now_s` is of a clock that only goes forward."""
        capacity = self.capacity
        if capacity is None:
            return ()
        if _surplus(capacity) > 0:
            return self._shrink(capacity, now_s)
        if capacity.variant.instances_min is None:
            return ()
        self._note(capacity, now_s)
        variant = capacity.variant
        plan = scale_in(self.instances(capacity), variant.scale_in, _least(variant), now_s, self._changed_s)
        for number in plan.released:
            capacity.retire(number, IDLE)
            self._resized(capacity.size)
        return plan.moves

    def _shrink(self, capacity: InstancePool, now_s: float) -> tuple[CopyMove, ...]:
        """Let the instances leave that are too many since an update, as their copies find room elsewhere."""
        plan = shrink(self.instances(capacity), _surplus(capacity))
        for number in plan.released:
            capacity.retire(number, SURPLUS)
        if plan.released and capacity.variant.instances_min is not None:
            self._resized(capacity.size)
        if now_s - self._shrunk_s < SHRINK_PAUSE_S or not plan.moves:
            return ()
        self._shrunk_s = now_s
        return plan.moves

    def _occupied(self, number: int) -> bool:
        return any(instance == number for _, instance in self._placed.values())

    def quiet_s(self, now_s: float) -> float:
        """Seconds in which no instance leaves, if no copy comes or goes."""
        capacity = self.capacity
        if capacity is not None and _surplus(capacity) > 0:
            return 0.0
        if capacity is None or capacity.variant.instances_min is None:
            return inf
        self._note(capacity, now_s)
        variant = capacity.variant
        until_s = quiet_until_s(self.instances(capacity), variant.scale_in, _least(variant), self._changed_s)
        return max(0.0, until_s - now_s)

    def _note(self, capacity: InstancePool, now_s: float) -> None:
        """Note since when which instance has been empty, and whether anything has changed."""
        seen = (tuple(capacity.numbers), tuple(sorted((name, at) for name, (_, at) in self._placed.items())))
        if seen != self._seen:
            self._seen, self._changed_s = seen, now_s
        used = {instance for _, instance in self._placed.values()}
        empty = [number for number in capacity.numbers if number not in used]
        self._empty_since_s = {number: self._empty_since_s.get(number, now_s) for number in empty}

    # -- room --------------------------------------------------------------------------------------------------------
    def _size(self, variant: Variant) -> ComputeAmount:
        size = size_of(variant)
        return schedulable(size.memory_mib, size.vcpu, size.gpus, strict=self._strict)

    def _may_grow(self, capacity: InstancePool, copy: PackedCopy) -> bool:
        """Whether one more instance may come, and the copy would fit on it."""
        variant = capacity.variant
        follows, most = variant.instances_min is not None, most_instances(variant)
        return follows and capacity.size < most and copy.needs.fits(self._size(variant))


def most_instances(variant: Variant) -> int:
    """The most instances of a variant for components: the number of one that does not follow its copies."""
    return variant.instances_max or variant.instance_count


def packed(needs: CopyNeeds, number: int) -> PackedCopy:
    """The copy as the packing knows it."""
    strategy = PlacementStrategy.BINPACK if needs.binpack else PlacementStrategy.SPREAD
    amount = ComputeAmount(needs.memory_mib, needs.cores, needs.accelerators)
    return PackedCopy(CopyId(needs.component, number), amount, strategy)


def _least(variant: Variant) -> int:
    return variant.instances_min or 0


def _surplus(capacity: InstancePool) -> int:
    return capacity.size - max(most_instances(capacity.variant), capacity.at_least)
