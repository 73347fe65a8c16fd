"""Which type of instance comes next for copies, and for which copy another instance comes. It starts nothing."""

from collections.abc import Mapping, Sequence
from math import inf

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount
from torpor_endpoint.core.packing.packed_instances import PackedCopy, PackedInstance
from torpor_endpoint.core.resource_records import InstanceTypePool


@frozen
class FurtherInstance:
    """An instance of this type is to come. `instead_of`: the number of the one that makes way for it; None where there
    are fewer than there may be."""

    instance_type: str
    instead_of: int | None = None


def next_pool(
    pools: Sequence[InstanceTypePool], needs: Mapping[str, ComputeAmount], sizes: Mapping[str, ComputeAmount]
) -> InstanceTypePool | None:
    """The pool that the next instance is of: the one of the highest priority, which is the lowest number, on whose
    type a copy fits. `needs` are the copy's on each type that it may be on, `sizes` what copies may have of an instance
    of each type. None if there is no such pool."""
    for pool in sorted(pools, key=lambda pool: pool.priority):
        kind = pool.instance_type
        if kind in needs and kind in sizes and needs[kind].fits(sizes[kind]):
            return pool
    return None


def further_instance(
    copy: PackedCopy,
    instances: Sequence[PackedInstance],
    pools: Sequence[InstanceTypePool],
    sizes: Mapping[str, ComputeAmount],
    most: int,
) -> FurtherInstance | None:
    """The instance that comes for a copy that has no room on the present ones; None if none may come, or helps.

    Where there are as many as there may be, one of another type that has no copies makes way: of those one that is of
    no pool, or else of the pool with the lowest priority, and then the one with the highest number."""
    needs = {kind: copy.needs for kind in sizes if copy.instance_type in (None, kind)}
    pool = next_pool(pools, needs, sizes)
    if pool is None:
        return None
    if len(instances) < most:
        return FurtherInstance(pool.instance_type)
    ranks: dict[str | None, float] = {one.instance_type: one.priority for one in pools}
    empty = [one for one in instances if not one.copies and one.instance_type != pool.instance_type]
    leaves = max(empty, key=lambda one: (ranks.get(one.instance_type, inf), one.number), default=None)
    return None if leaves is None else FurtherInstance(pool.instance_type, leaves.number)
