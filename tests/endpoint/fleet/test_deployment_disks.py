"""The instances' disks through updates: each variant finds its own again, and a removed variant leaves none."""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.endpoint.helpers.fake_host import FakeHost, Mood
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.resource_records import Container, Serverless, Variant
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.variant_change import DeploymentFailed
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.host.disks import Disks

OLD = Variant("old", "m", (Container("torpor"),), serverless=Serverless(1024, 20), startup_timeout_s=20.0)
NEW = replace(OLD, name="new")
OTHER_MACHINE = replace(OLD, containers=(Container("torpor", environment={"A": "1"}),))


class Shop:
    """A deployment whose instances have disks."""

    def __init__(self, host: FakeHost, folder: Path) -> None:
        self.host = host
        self.live = FleetEndpoint("Shop", "arn")
        self._folder = folder / "shop"
        self._disks = Disks(folder)
        self.deployment = Deployment(self.live, InstanceFactory(host, self._launched, time.time, vacated=self._vacated))

    @property
    def disks(self) -> list[str]:
        return sorted(str(disk.relative_to(self._folder)) for disk in self._folder.glob("*/*"))

    async def wake(self, name: str) -> None:
        pool = self.live.pools[name]
        pool.wake()
        await pool.until(lambda: bool(pool.ready))

    async def sleep(self) -> None:
        for pool in self.live.pools.values():
            pool.scale(0, "nobody calls")
        await asyncio.sleep(5.0)

    def _launched(self, variant: Variant, slot: Slot) -> LaunchSpec:
        self._disks.of(slot).mkdir(parents=True, exist_ok=True)
        return LaunchSpec(slot)

    async def _vacated(self, endpoint: str, variant: str) -> None:
        shutil.rmtree(self._disks.of(Slot(endpoint, variant, 0)).parent)  # virtual time knows no threads


def played(folder: Path, story: Callable[[Shop], Awaitable[None]]) -> None:
    async def whole() -> None:
        with FakeHost() as host:
            shop = Shop(host, folder)
            await story(shop)
            await shop.deployment.close("the test ends")

    run(whole())


def test_a_variant_that_wakes_finds_its_own_disk_in_any_order(tmp_path: Path) -> None:
    async def story(shop: Shop) -> None:
        shop.deployment.start((OLD, NEW))
        for order in (("old", "new"), ("new", "old")):
            for name in order:
                await shop.wake(name)
            assert shop.disks == ["new/0", "old/0"]
            await shop.sleep()

    played(tmp_path, story)


def test_a_renamed_variant_leaves_no_disk_after_its_last_instance(tmp_path: Path) -> None:
    async def story(shop: Shop) -> None:
        await shop.deployment.become([OLD])
        shop.host.dies_slowly_s = 10.0
        await shop.deployment.become([NEW])
        assert shop.disks == ["new/0", "old/0"]
        await asyncio.sleep(15.0)
        assert shop.disks == ["new/0"]

    played(tmp_path, story)


def test_a_renamed_variant_that_slept_leaves_no_disk_either(tmp_path: Path) -> None:
    async def story(shop: Shop) -> None:
        await shop.deployment.become([OLD])
        await shop.sleep()
        await shop.deployment.become([NEW])
        await asyncio.sleep(1.0)
        assert shop.disks == ["new/0"]

    played(tmp_path, story)


def test_a_variant_that_returns_while_it_still_drains_keeps_its_disks(tmp_path: Path) -> None:
    async def story(shop: Shop) -> None:
        await shop.deployment.become([OLD])
        shop.host.dies_slowly_s = 10.0
        await shop.deployment.become([NEW])
        shop.host.mood = Mood.BAD  # it is launched, and not ready before the first one of its name has gone
        back = asyncio.create_task(shop.deployment.become([OLD]))
        await asyncio.sleep(15.0)
        assert shop.disks == ["new/0", "old/0", "old/1"]
        for instance in shop.host.living.values():
            instance.mood = Mood.GOOD
        await back
        await asyncio.sleep(15.0)
        assert shop.disks == ["old/0", "old/1"]

    played(tmp_path, story)


def test_a_failed_update_leaves_the_existing_disks(tmp_path: Path) -> None:
    async def story(shop: Shop) -> None:
        await shop.deployment.become([OLD])
        shop.host.mood = Mood.BAD
        with pytest.raises(DeploymentFailed):
            await shop.deployment.become([NEW, OTHER_MACHINE])
        await asyncio.sleep(1.0)
        assert shop.disks == ["old/0", "old/1"]

    played(tmp_path, story)


def test_an_endpoint_that_stops_right_after_an_update_keeps_its_disks(tmp_path: Path) -> None:
    async def story(shop: Shop) -> None:
        await shop.deployment.become([OLD])
        shop.host.dies_slowly_s = 10.0
        await shop.deployment.become([OTHER_MACHINE])
        await asyncio.sleep(1.0)
        shop.host.dies_slowly_s = 0.0  # the replaced one is the last to go
        await shop.deployment.close("the endpoint stops")
        assert shop.disks == ["old/0", "old/1"]

    played(tmp_path, story)
