"""The copies of one inference component: a pool of instances that start where there is room for them."""

from collections.abc import Collection
from typing import Final

from torpor_endpoint.core.resource_records import CopyNeeds, Variant
from torpor_endpoint.fleet.components.copy_places import CopyPlaces
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.in_service.incarnation import StartTrouble

NO_ROOM: Final = (
    "There is not enough hardware resources on the instances for this endpoint to create a copy of the inference "
    "component."
)


class ComponentPool(InstancePool):
    """The copies of one specification of a component, each with a place among `places`."""

    def __init__(
        self, endpoint: str, variant: Variant, factory: InstanceFactory, numbers: SlotNumbers, places: CopyPlaces
    ) -> None:
        """Raises BadSetting if a setting of the variant that the endpoint acts on cannot be read."""
        super().__init__(endpoint, variant, factory, numbers)
        self._places = places

    @property
    def copies(self) -> CopyNeeds:
        assert self.variant.copies is not None, "it stands for a component"
        return self.variant.copies

    def scale(self, size: int, why: str) -> None:
        """Want so many copies, or as many as have room: `trouble` says it if there is none for all."""
        super().scale(size, why)
        if self.size < size and not self.closed:
            self.failed(StartTrouble(NO_ROOM, self.size, final=True))

    def adopt(self, numbers: Collection[int]) -> None:
        for number in numbers:
            self._places.take(self.copies, number)
        super().adopt(numbers)

    def _taken(self) -> int | None:
        number = super()._taken()
        if number is None or self._places.take(self.copies, number):
            return number
        self._numbers.give(number)
        return None

    def _freed(self, number: int) -> None:
        self._places.free(self.copies.component, number)
        super()._freed(number)
