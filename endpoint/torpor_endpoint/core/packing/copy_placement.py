"""Chooses the instances for copies: for one more at a time, or for several together.

One at a time is exact for the copies of one component: they need the same, so whatever order fills the instances, as
many fit. Several components together are bin packing. There a greedy order is tried first, largest copy first, and
then a search; the search is exact where it ends within its budget, as it does for a few copies on a few instances.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from torpor_endpoint.core.components.component_records import PlacementStrategy
from torpor_endpoint.core.packing.compute_amounts import total
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedCopy, PackedInstance

NOT_ENOUGH: Final = (
    "There is not enough hardware resources on the instances for this endpoint to create a copy of the inference "
    "component."
)
"""AWS's reason for a copy that fits nowhere."""

SEARCH_STEPS: Final = 5_000
"""The most instances that a search tries for its copies, one after another: 0.2 s where no two of 30 are alike."""

Places = Mapping[CopyId, int]
"""The numbers of the instances that copies are on."""


def place(copy: PackedCopy, instances: Iterable[PackedInstance], *, tight: bool = False) -> int | None:
    """The number of the instance for one more copy; None if it fits on none.

    SPREAD: the instance with the fewest copies of its component, then with the fewest copies, or the fullest if
    `tight`. BINPACK: the fullest.
    """
    fitting = (one for one in instances if one.has_room(copy))
    best = min(fitting, key=lambda one: _preference(copy, one, tight), default=None)
    return None if best is None else best.number


def place_all(
    copies: Sequence[PackedCopy], instances: Sequence[PackedInstance], *, tight: bool = False
) -> Places | None:
    """Instances for all of these copies, none of which has one; None if no way was found to place them."""
    largest_first = _largest_first(copies, instances)
    places, left = place_most(largest_first, instances, tight=tight)
    return _Search(largest_first, instances, tight).run() if left else places


def place_most(
    copies: Sequence[PackedCopy], instances: Sequence[PackedInstance], *, tight: bool = False
) -> tuple[Places, list[PackedCopy]]:
    """Instances for as many of the copies as fit, the first ones first, and those that are left."""
    places: dict[CopyId, int] = {}
    left = []
    by_number = {one.number: one for one in instances}
    for copy in copies:
        number = place(copy, by_number.values(), tight=tight)
        if number is None:
            left.append(copy)
        else:
            places[copy.name] = number
            by_number[number] = by_number[number].holding(copy)
    return places, left


def _preference(copy: PackedCopy, instance: PackedInstance, tight: bool) -> tuple[float, ...]:
    """Less is better."""
    if copy.strategy is PlacementStrategy.BINPACK:
        return -instance.fullness, instance.number
    second = -instance.fullness if tight else len(instance.copies)
    return instance.count(copy.name.component), second, instance.number


def _largest_first(copies: Sequence[PackedCopy], instances: Sequence[PackedInstance]) -> list[PackedCopy]:
    whole = total(one.size for one in instances)
    return sorted(copies, key=lambda copy: (-copy.needs.share_of(whole), copy.name))


class _Search:
    """Tries every instance for every copy until all have one or the budget is used up."""

    def __init__(self, copies: Sequence[PackedCopy], instances: Sequence[PackedInstance], tight: bool) -> None:
        self._copies = copies
        self._tight = tight
        self._instances = list(instances)
        self._places: dict[CopyId, int] = {}
        self._steps = 0

    def run(self) -> Places | None:
        return self._places if self._from(0) else None

    def _from(self, position: int) -> bool:
        if position == len(self._copies):
            return True
        copy, tried = self._copies[position], set()  # another one of its type with as much room has failed
        fitting = [index for index, one in enumerate(self._instances) if one.has_room(copy)]
        for index in sorted(fitting, key=lambda one: _preference(copy, self._instances[one], self._tight)):
            before = self._instances[index]
            alike = before.room, before.instance_type
            if alike in tried:
                continue
            tried.add(alike)
            self._steps += 1
            if self._steps > SEARCH_STEPS:
                return False
            self._instances[index] = before.holding(copy)
            self._places[copy.name] = before.number
            if self._from(position + 1):
                return True
            self._instances[index] = before
        return False
