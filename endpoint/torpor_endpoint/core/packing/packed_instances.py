"""Instances with the copies on them, as frozen values. They place nothing."""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.components.component_records import PlacementStrategy
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount, total


class CopyId(NamedTuple):
    """One copy: its component, and its number among the component's."""

    component: str
    number: int


@frozen
class PackedCopy:
    """A copy, what it needs, and where the component wants its copies."""

    name: CopyId
    needs: ComputeAmount
    strategy: PlacementStrategy = PlacementStrategy.SPREAD
    instance_type: str | None = None  # the only type of instance that it may be on; None: any


@frozen
class PackedInstance:
    """An instance in a slot of this number. `empty_since_s`: since when it has had no copy; None if it has one."""

    number: int
    size: ComputeAmount  # what copies may have of it
    copies: tuple[PackedCopy, ...] = ()
    instance_type: str | None = None
    empty_since_s: float | None = None

    @cached_property
    def room(self) -> ComputeAmount:
        """What is free on it."""
        return self.size.less(total(copy.needs for copy in self.copies))

    def has_room(self, copy: PackedCopy) -> bool:
        return copy.instance_type in (None, self.instance_type) and copy.needs.fits(self.room)

    def holding(self, copy: PackedCopy) -> "PackedInstance":
        """The instance with one more copy."""
        return replace(self, copies=(*self.copies, copy), empty_since_s=None)

    def count(self, component: str) -> int:
        """How many copies of the component it has."""
        return sum(copy.name.component == component for copy in self.copies)

    @cached_property
    def fullness(self) -> float:
        """The share that is taken of the resource that is taken most, from 0 to 1."""
        return total(copy.needs for copy in self.copies).share_of(self.size)
