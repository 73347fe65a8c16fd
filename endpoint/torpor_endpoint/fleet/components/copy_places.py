"""Where the copies of inference components stand: on which instance of a variant each is, and what is free there.

`core.packing` decides. Here instances come with the first copy that needs one, where their number follows the copies,
and leave when it says so. It starts and stops no copy.
"""

from collections.abc import Callable
from math import inf

from torpor_endpoint.core.components.component_records import PlacementStrategy
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount, schedulable
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedCopy, PackedInstance
from torpor_endpoint.core.packing.scale_in_plans import CopyMove, shrink
from torpor_endpoint.core.packing.standing_copies import InstancePlace, StandingCopies
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
        self._strict = strict
        self._standing = StandingCopies()
        self._shrunk_s = -inf  # when copies were last told to move from instances that are to leave

    @property
    def capacity(self) -> InstancePool | None:
        """The instances; None once the endpoint does not have them any more."""
        found = self._live.pools.get(self._variant)
        if found is not None:
            found.occupied = self._standing.on
        return found

    def take(self, needs: CopyNeeds, number: int, instance: int | None = None) -> bool:
        """Place a copy, on this instance if one is named, and else on an instance more where that is allowed. False
        where there is no room for it."""
        capacity = self.capacity
        if capacity is None:
            return False
        copy = packed(needs, number)
        found = self._standing.take(copy, self._wanted(capacity), instance)
        if found is None and instance is None and self._may_grow(capacity, copy):
            before = set(capacity.numbers)
            capacity.scale(capacity.size + 1, f"a copy of {needs.component} needs room")
            self._resized(capacity.size)
            came = next(iter(set(capacity.numbers) - before), None)
            found = None if came is None else self._standing.take(copy, self._wanted(capacity), came)
        return found is not None

    def free(self, component: str, number: int) -> None:
        """The copy is gone."""
        self._standing.free(CopyId(component, number))
        waiting, self.freed = self.freed, []
        for again in waiting:
            again()

    def leave(self, component: str, number: int) -> None:
        """The copy is no longer wanted. It has its place until it is gone."""
        self._standing.leave(CopyId(component, number))

    @property
    def leaving(self) -> bool:
        """Whether a copy has a place that it will give back."""
        return self._standing.leaving

    def instances(self, capacity: InstancePool) -> list[PackedInstance]:
        """The instances that are wanted, with their copies."""
        return self._standing.instances(self._wanted(capacity))

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
        variant = capacity.variant
        plan = self._standing.scale_in(self._wanted(capacity), variant.scale_in, _least(variant), now_s)
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

    def quiet_s(self, now_s: float) -> float:
        """Seconds in which no instance leaves, if no copy comes or goes."""
        capacity = self.capacity
        if capacity is not None and _surplus(capacity) > 0:
            return 0.0
        if capacity is None or capacity.variant.instances_min is None:
            return inf
        variant = capacity.variant
        places, least = self._wanted(capacity), _least(variant)
        return max(0.0, self._standing.quiet_until_s(places, variant.scale_in, least, now_s) - now_s)

    # -- room --------------------------------------------------------------------------------------------------------
    def _wanted(self, capacity: InstancePool) -> list[InstancePlace]:
        """The instances that are wanted, in ascending order of their numbers."""
        size = self._size(capacity.variant)
        return [InstancePlace(number, size, capacity.variant.instance_type) for number in capacity.numbers]

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
