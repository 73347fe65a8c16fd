"""Instances that an earlier endpoint process launched: routers may use them while this one ends them."""

import asyncio
from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.core.routing.ready_slots import PlacedInstance
from torpor_endpoint.fleet.drains import NoOtherRouter
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.fleet.timing import TIMING
from torpor_endpoint.host import LaunchSpec, Slot

SLOT = Slot("shop", "v", 0)


class Using(NoOtherRouter):
    """Routers that use these instances."""

    def __init__(self, used: set[str]) -> None:
        super().__init__()
        self._used = used

    def uses(self, instance: str) -> bool:
        return instance in self._used


@pytest.mark.parametrize("adopted", [False, True])
def test_an_instance_of_an_earlier_process_ends_once_no_router_uses_it(adopted: bool) -> None:
    """One whose configuration is another, and one that was adopted and must leave before this process has called it."""
    used: set[str] = set()

    async def story(host: FakeHost) -> None:
        launched = await host.launch(LaunchSpec(SLOT))
        host.living[SLOT].launched = replace(launched, since_s=1.0)
        host.left.add(SLOT)
        used.add(launched.incarnation)
        factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), lambda: 1e9, others=Using(used))
        pool = InstancePool("shop", Variant("v", "m", (Container("torpor"),)), factory, SlotNumbers())
        if adopted:
            pool.adopt([0])
            pool.scale(0, "nobody calls")
        else:
            pool.end([0], "it is of another configuration")
        await asyncio.sleep(TIMING.grace_s / 2)
        assert SLOT in host.living
        used.clear()
        pool.changed()
        await asyncio.sleep(1.0)
        assert SLOT not in host.living
        await pool.close("the endpoint stops")

    with FakeHost() as host:
        run(story(host))


def test_a_model_is_called_where_an_adopted_instance_has_it_in_memory() -> None:
    """The second one came before this process began, and had no calls yet."""
    names = tuple(f"m{number}" for number in range(40))

    async def story(host: FakeHost) -> None:
        for number, models in enumerate((names, ())):
            slot = replace(SLOT, number=number)
            launched = await host.launch(LaunchSpec(slot))
            host.living[slot].launched = replace(launched, since_s=1.0)
            host.living[slot].models = models
            host.left.add(slot)
        factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), lambda: 1e9)
        variant = Variant("v", "m", (Container("torpor", multi_model=True),))
        pool = InstancePool("shop", variant, factory, SlotNumbers())
        pool.adopt([0, 1])
        await pool.until(lambda: pool.ready.count > 0)
        assert {pool.ready.pick(name).slot.number for name in names} == {0}
        assert set(pool.ready.moving) == {name for name in names if goes_to(name) == 1}
        await pool.close("the endpoint stops")

    with FakeHost() as host:
        run(story(host))


def goes_to(model: str) -> int:
    """The place of the model's owner among two instances."""
    ready, both = Placement[PlacedInstance](), [PlacedInstance(), PlacedInstance()]
    for number, one in enumerate(both):
        one.in_flight = 0
        ready.offer(number, one)
    return both.index(ready.pick(model))
