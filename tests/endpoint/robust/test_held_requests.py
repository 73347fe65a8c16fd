"""Requests that wait for an instance which is removed meanwhile."""

import asyncio
import time
from collections.abc import Collection, Coroutine
from typing import Any

import pytest

from tests.endpoint.helpers.passages import passage
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.host import Launched, LaunchSpec, Phase, Slot
from torpor_endpoint.runtime.errors import RuntimeFault
from torpor_endpoint.runtime.holding import HoldLimits, PoolClosed
from torpor_endpoint.runtime.passage import CallLimits, Route
from torpor_endpoint.runtime.sending import RequestSender


class SlowHost:
    """Instances that are launched, and never answer."""

    def __init__(self) -> None:
        self.running: dict[Slot, Launched] = {}

    async def launch(self, spec: LaunchSpec) -> Launched:
        self.running[spec.slot] = launched = Launched(spec.slot, "i-1", "/nowhere", Phase.RUNNING)
        return launched

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        self.running.pop(slot, None)

    def list(self) -> tuple[Launched, ...]:
        return tuple(self.running.values())

    async def exited(self, slot: Slot) -> Launched:
        await asyncio.Event().wait()
        return self.running[slot]

    async def placed(self, slot: Slot) -> Launched:
        return self.running[slot]

    async def vacate(self, endpoint: str, variant: str | None = None) -> None:
        """Has no disks."""

    async def open(self, kept: Collection[tuple[str, str]]) -> None:
        """Finds nothing that runs."""

    def health(self, slot: Slot) -> Launched | None:
        return self.running.get(slot)

    async def close(self) -> None:
        self.running.clear()


class Shop:
    """One endpoint whose only variant sleeps, and a sender in front of it."""

    def __init__(self, limits: CallLimits | None = None, held: HoldLimits | None = None) -> None:
        self.host = SlowHost()
        self.numbers = SlotNumbers()
        variant = Variant("AllTraffic", "m", (Container("torpor"),), instances_min=0)
        self.pool = InstancePool(
            "shop", variant, InstanceFactory(self.host, lambda variant, slot: LaunchSpec(slot), time.time), self.numbers
        )
        self.live = FleetEndpoint("shop", "arn", {"AllTraffic": self.pool})
        roster = FleetRoster()
        roster.serve(self.live)
        clock = asyncio.get_running_loop().time
        self.limits = limits
        self.sender = RequestSender(clock, strict=False, held=held or HoldLimits())

    def call(self) -> "asyncio.Task[Any]":
        route = Route(self.live, "AllTraffic", self.pool, None)
        return asyncio.create_task(self.sender.send(passage("shop", route=route, limits=self.limits)))


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


def test_held_requests_of_a_closing_pool_fail_as_closed_and_wake_nothing() -> None:
    async def story() -> None:
        shop = Shop()
        calls = [shop.call() for _ in range(3)]
        await reached(lambda: (shop.pool.traffic.held, len(shop.host.running)) == (3, 1))
        await shop.pool.close("the test ends")
        late = shop.call()
        ends = await asyncio.gather(*calls, late, return_exceptions=True)
        assert [type(end) for end in ends] == [PoolClosed] * 4
        assert (shop.pool.traffic.held, shop.pool.traffic.in_flight, shop.pool.size) == (0, 0, 0)
        assert shop.host.list() == ()

    run(story())


def test_held_requests_wake_another_instance_when_theirs_is_removed() -> None:
    async def story() -> None:
        shop = Shop()
        calls = [shop.call() for _ in range(3)]
        await reached(lambda: (shop.pool.traffic.held, len(shop.host.running)) == (3, 1))
        shop.pool.scale(0, "not wanted")
        await reached(lambda: shop.pool.size == 1)
        assert shop.pool.traffic.held == 3
        await shop.pool.close("the test ends")
        await asyncio.gather(*calls, return_exceptions=True)

    run(story())


def test_a_slot_is_free_again_once_its_instance_is_gone_and_not_before() -> None:
    async def story() -> None:
        shop = Shop()
        shop.pool.scale(2, "wanted")
        await reached(lambda: len(shop.host.running) == 2)
        shop.pool.scale(0, "not wanted")
        assert shop.numbers.take() == 2
        await shop.pool.close("the test ends")
        assert [shop.numbers.take() for _ in range(2)] == [0, 1]

    run(story())


@pytest.mark.parametrize(("limits", "held"), [(None, HoldLimits(requests=2)), (CallLimits(hold_s=0.05), None)])
def test_waiting_is_bounded_in_number_and_in_time(limits: CallLimits | None, held: HoldLimits | None) -> None:
    async def story() -> None:
        shop = Shop(limits, held)
        calls = [shop.call() for _ in range(3)]
        done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        assert {type(call.exception()) for call in done} == {RuntimeFault}
        await shop.pool.close("the test ends")
        await asyncio.gather(*calls, return_exceptions=True)
        assert (shop.pool.traffic.held, shop.pool.traffic.held_bytes) == (0, 0)

    run(story())
