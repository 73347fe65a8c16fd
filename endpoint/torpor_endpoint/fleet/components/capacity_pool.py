"""The instances of a variant for inference components. Each has a type, that of one of the variant's InstancePools."""

import asyncio

from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.fleet.supervision.capacity_supervisor import CapacitySupervisor
from torpor_endpoint.host import Slot


class CapacityPool(InstancePool):
    """All instances are of the variant's type, but for those that `grow` brings."""

    def __init__(self, endpoint: str, variant: Variant, factory: InstanceFactory, numbers: SlotNumbers) -> None:
        super().__init__(endpoint, variant, factory, numbers)
        self._types: dict[int, str] = {}

    def type_in(self, slot: int) -> str:
        return self._types.get(slot) or super().type_in(slot)

    def grow(self, instance_type: str, why: str) -> int:
        """Want one more instance, of this type. Returns its slot."""
        number = self._numbers.take()
        self._types[number] = instance_type
        self.supervise(number, why)
        return number

    def supervise(self, number: int, why: str) -> None:
        slot = Slot(self.endpoint, self.variant.name, number)
        supervisor = CapacitySupervisor(self, slot, self._factory, why, self.type_in(number))
        self._supervised[number] = asyncio.create_task(supervisor.run(), name=f"supervise {slot}")

    def _freed(self, number: int) -> None:
        self._types.pop(number, None)
        super()._freed(number)
