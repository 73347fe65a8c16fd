"""How many instances copies want, of which type, where their number follows the copies."""

from collections.abc import Collection, Mapping, Sequence

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount
from torpor_endpoint.core.packing.copy_placement import Places, place_most
from torpor_endpoint.core.packing.packed_instances import PackedCopy, PackedInstance
from torpor_endpoint.core.resource_records import InstanceTypePool


@frozen
class InstanceBounds:
    """MinInstanceCount and MaxInstanceCount. Both are the present number where it does not follow the copies."""

    least: int
    most: int


@frozen
class FurtherInstance:
    """An instance of this type is to come. `instead_of`: the number of the one that makes way for it; None where there
    are fewer than there may be."""

    instance_type: str
    instead_of: int | None = None


@frozen
class InstanceDemand:
    """What is wanted for copies that have no instance yet."""

    instances: int
    """How many instances there should be, the present ones among them."""
    places: Places
    """Where the copies go that fit on the present instances."""
    waiting: tuple[PackedCopy, ...]
    """The copies that all have room once the further instances are there, in their order. Placed one after another on
    all of these at once they may not: `place_all` finds how."""
    refused: tuple[PackedCopy, ...]
    """The copies that fit on no instance that may come."""


def instance_demand(
    copies: Sequence[PackedCopy], instances: Sequence[PackedInstance], bounds: InstanceBounds, new: ComputeAmount
) -> InstanceDemand:
    """What these copies want, the first ones first. `new` is what copies may have of a further instance.

    A further instance is asked for only where a copy needs it, so there are never more than copies that did not fit.
    """
    places, left = place_most(copies, instances)
    coming: list[PackedInstance] = []
    waiting, refused = [], []
    number = max((one.number for one in instances), default=-1) + 1
    for copy in left:
        _, rest = place_most([copy], coming)
        if rest and copy.needs.fits(new) and len(instances) + len(coming) < bounds.most:
            coming.append(PackedInstance(number + len(coming), new))
        where, rest = place_most([copy], coming)
        if rest:
            refused.append(copy)
            continue
        coming = [one.holding(copy) if one.number in where.values() else one for one in coming]
        waiting.append(copy)
    wanted = max(len(instances) + len(coming), bounds.least)
    return InstanceDemand(wanted, places, tuple(waiting), tuple(refused))


def next_pool(
    pools: Sequence[InstanceTypePool],
    lacking: Collection[str],
    needs: Mapping[str, ComputeAmount],
    sizes: Mapping[str, ComputeAmount],
) -> InstanceTypePool | None:
    """The pool that the next instance is of: the one of the highest priority, which is the lowest number, whose type
    is not `lacking`, and on which a copy fits. `needs` are the copy's on each type that it may be on, `sizes` what
    copies may have of an instance of each type. None if there is no such pool."""
    for pool in sorted(pools, key=lambda pool: pool.priority):
        kind = pool.instance_type
        if kind not in lacking and kind in needs and kind in sizes and needs[kind].fits(sizes[kind]):
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

    Where there are as many as there may be, one of another type that has no copies makes way: of those the one that is
    of the pool with the lowest priority, and then has the highest number."""
    needs = {kind: copy.needs for kind in sizes if copy.instance_type in (None, kind)}
    pool = next_pool(pools, (), needs, sizes)
    if pool is None:
        return None
    if len(instances) < most:
        return FurtherInstance(pool.instance_type)
    ranks = {one.instance_type: one.priority for one in pools}
    empty = [one for one in instances if not one.copies and one.instance_type != pool.instance_type]
    leaves = max(empty, key=lambda one: (ranks.get(one.instance_type or "", len(pools)), one.number), default=None)
    return None if leaves is None else FurtherInstance(pool.instance_type, leaves.number)
