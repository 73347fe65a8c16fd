"""The copies of one inference component: a pool of instances that start where there is room for them."""

from collections.abc import Collection
from functools import partial

from torpor_endpoint.core.packing.copy_placement import NOT_ENOUGH
from torpor_endpoint.core.resource_records import CopyNeeds, Variant
from torpor_endpoint.fleet.components.copy_places import CopyPlaces
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.fleet.supervision.slot_successors import succeeded
from torpor_endpoint.in_service.incarnation import StartTrouble


class ComponentPool(InstancePool):
    """The copies of one specification of a component, each with a place among `places`."""

    def __init__(
        self, endpoint: str, variant: Variant, factory: InstanceFactory, numbers: SlotNumbers, places: CopyPlaces
    ) -> None:
        """Raises BadSetting if a setting of the variant that the endpoint acts on cannot be read."""
        super().__init__(endpoint, variant, factory, numbers)
        self._places = places
        self._waiting = 0  # copies that have room once others have left

    @property
    def size(self) -> int:
        """The number of copies that are wanted now, those among them that wait for room."""
        return super().size + self._waiting

    @property
    def copies(self) -> CopyNeeds:
        assert self.variant.copies is not None, "it stands for a component"
        return self.variant.copies

    def type_in(self, slot: int) -> str:
        return self._places.type_of(self.copies.component, slot) or super().type_in(slot)

    def place_of(self, slot: int) -> str:
        instance = self._places.instance_of(self.copies.component, slot)
        return "" if instance is None else f"{self.copies.placed_on}/{instance}, {self.type_in(slot)}"

    def scale(self, size: int, why: str) -> None:
        """Want so many copies, or as many as have room: `trouble` says it if there is none for all. Where copies are
        leaving, those that have no room yet wait for it."""
        self._waiting = 0
        super().scale(size, why)
        short = 0 if self.closed else size - self.size
        if short and self._places.leaving:
            self._waiting = short
            self._places.freed.append(partial(self._again, why))
        elif short:
            self.failed(StartTrouble(NOT_ENOUGH, self.size, final=True))

    def _again(self, why: str) -> None:
        """A copy has left: those that wait may have room now."""
        if self._waiting and not self.closed:
            self.scale(self.size, why)
            self.changed()

    def adopt(self, numbers: Collection[int]) -> None:
        for number in numbers:
            self._places.take(self.variant, number)
        super().adopt(numbers)

    async def move(self, number: int, instance: int) -> bool:
        """Have the copy in this slot stand on another instance: its successor starts there, and it leaves once that is
        ready. False where it stays, because there is no room or the successor does not start."""
        successor = self._numbers.take()
        if self.closed or not self._places.take(self.variant, successor, instance):
            self._numbers.give(successor)
            return False
        return await succeeded(self, number, successor, "it moves to another instance")

    def _retire(self, number: int, why: str) -> None:
        self._places.leave(self.copies.component, number)
        super()._retire(number, why)

    def take_slot(self) -> int | None:
        number = super().take_slot()
        if number is None or self._places.take(self.variant, number):
            return number
        self._numbers.give(number)
        return None

    def _freed(self, number: int) -> None:
        self._places.free(self.copies.component, number)
        super()._freed(number)
