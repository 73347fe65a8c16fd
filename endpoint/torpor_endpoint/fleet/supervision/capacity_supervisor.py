"""Fills a slot with an instance that runs nothing itself: copies of inference components are placed on it.

No process stands for such an instance. It has a life in the ledger, as it costs what an instance of its type costs.
"""

import asyncio
from dataclasses import replace
from secrets import token_hex

from torpor_endpoint.core.lifecycle import InstanceEvent
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.supervision.slot_supervisor import SlotOwner
from torpor_endpoint.host import Launched, Phase, Slot
from torpor_endpoint.in_service.incarnation import Incarnation


class CapacitySupervisor:
    """Fills one slot with an instance of this type. `why` is the ledger's reason."""

    def __init__(self, pool: SlotOwner, slot: Slot, factory: InstanceFactory, why: str, instance_type: str) -> None:
        self.slot = slot
        self._pool = pool
        self._factory = factory
        self._why = why
        self._instance_type = instance_type

    async def run(self) -> None:
        """Keep the slot filled until cancelled. Such an instance is ready at once, or after the emulated delay."""
        launched = Launched(self.slot, f"i-{token_hex(8)}", None, Phase.RUNNING)
        variant = replace(self._pool.variant, instance_type=self._instance_type)
        life = self._factory.began(variant, launched, self._why, self._factory.clock())
        incarnation = Incarnation(self.slot, launched.incarnation, [])
        self._pool.add(incarnation, life)
        await asyncio.sleep(self._factory.start_delay_s(self._pool.variant))
        incarnation.happened(InstanceEvent.PING_OK)
        self._pool.became_ready(incarnation)
        self._pool.offer(incarnation)
        await asyncio.get_running_loop().create_future()
