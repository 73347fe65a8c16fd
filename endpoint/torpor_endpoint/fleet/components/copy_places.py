"""Where the copies of inference components stand: on which instance of a variant each is, and what is free there.

`core.packing` decides. Here instances come with the first copy that needs one, where their number follows the copies,
and leave when it says so. It starts and stops no copy.
"""

from collections.abc import Callable
from math import inf

from torpor_endpoint.core.components.component_records import PlacementStrategy
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount
from torpor_endpoint.core.packing.further_instances import further_instance
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedCopy, PackedInstance
from torpor_endpoint.core.packing.scale_in_plans import CopyMove, shrink
from torpor_endpoint.core.packing.standing_copies import InstancePlace, StandingCopies
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.components.capacity_pool import CapacityPool
from torpor_endpoint.fleet.components.pool_types import pools_of, room_on, rooms
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_pool import InstancePool

IDLE = "it had no copy for ten minutes"
SURPLUS = "an update asks for fewer instances"
MAKES_WAY = "it makes way for one of type {instance_type}"
SHRINK_PAUSE_S = 30.0
"""Before copies are moved again from instances that are to leave."""


class CopyPlaces:
    """The copies on the instances of one variant. `resized` is called with their new number. `strict`: copies may have
    of an instance what they have on AWS. A function in `freed` is called once, when there is room again."""

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
    def capacity(self) -> CapacityPool | None:
        """The instances; None once the endpoint does not have them any more."""
        found = self._live.pools.get(self._variant)
        if not isinstance(found, CapacityPool):
            return None
        found.occupied = self._standing.on
        return found

    def take(self, variant: Variant, number: int, instance: int | None = None) -> bool:
        """Place a copy of this variant, on this instance if one is named, and else on an instance more where that is
        allowed. False where there is no room for it."""
        capacity = self.capacity
        if capacity is None:
            return False
        copy = packed_copy(variant, number)
        found = self._standing.take(copy, self._wanted(capacity), instance)
        if found is None and instance is None and (came := self._further(capacity, copy)) is not None:
            found = self._standing.take(copy, self._wanted(capacity), came)
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

    def instances(self, capacity: CapacityPool) -> list[PackedInstance]:
        """The instances that are wanted, with their copies."""
        return self._standing.instances(self._wanted(capacity))

    def instance_of(self, component: str, number: int) -> int | None:
        """The slot of the instance that the copy is on; None if it is on none."""
        return self._standing.place_of(CopyId(component, number))

    def type_of(self, component: str, number: int) -> str | None:
        """The type of the instance that the copy is on; None if it is on none."""
        instance, capacity = self.instance_of(component, number), self.capacity
        return None if instance is None or capacity is None else capacity.type_in(instance)

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

    def _shrink(self, capacity: CapacityPool, now_s: float) -> tuple[CopyMove, ...]:
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
    def _wanted(self, capacity: CapacityPool) -> list[InstancePlace]:
        """The instances that are wanted, in ascending order of their numbers."""
        types = {number: capacity.type_in(number) for number in capacity.numbers}
        sizes = {kind: room_on(capacity.variant, kind, strict=self._strict) for kind in types.values()}
        return [InstancePlace(number, sizes[kind], kind) for number, kind in types.items()]

    def _further(self, capacity: CapacityPool, copy: PackedCopy) -> int | None:
        """The number of one more instance for the copy; None if none may come, or helps."""
        variant = capacity.variant
        if variant.instances_min is None or capacity.closed:
            return None
        sizes, present = rooms(variant, strict=self._strict), self.instances(capacity)
        coming = further_instance(copy, present, pools_of(variant), sizes, most_instances(variant))
        if coming is None:
            return None
        if coming.instead_of is not None:
            capacity.retire(coming.instead_of, MAKES_WAY.format(instance_type=coming.instance_type))
        number = capacity.grow(coming.instance_type, f"a copy of {copy.name.component} needs room")
        self._resized(capacity.size)
        return number


def most_instances(variant: Variant) -> int:
    """The most instances of a variant for components: the number of one that does not follow its copies."""
    return variant.instances_max or variant.instance_count


def packed_copy(variant: Variant, number: int) -> PackedCopy:
    """A copy of this variant, as the packing knows it."""
    needs = variant.copies
    assert needs is not None, "it stands for a component"
    strategy = PlacementStrategy.BINPACK if needs.binpack else PlacementStrategy.SPREAD
    amount = ComputeAmount(needs.memory_mib, needs.cores, needs.accelerators)
    only = variant.instance_type if needs.one_type else None
    return PackedCopy(CopyId(needs.component, number), amount, strategy, only)


def _least(variant: Variant) -> int:
    return variant.instances_min or 0


def _surplus(capacity: InstancePool) -> int:
    return capacity.size - max(most_instances(capacity.variant), capacity.at_least)
