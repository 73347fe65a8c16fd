"""Rollouts of an endpoint on a fake host, in virtual time: both fleets, their traffic, alarms, failures, restarts."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import ThreadlessTime
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import reached as really_reached
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.resource_records import Container, EndpointRecord, EndpointStatus, Variant
from torpor_endpoint.core.rollouts.rollout import Rollout, RolloutPhase
from torpor_endpoint.core.rollouts.rollout_policy import CapacitySize, RolloutPolicy, SizeType, Strategy
from torpor_endpoint.core.routing.weighted_choice import weighted
from torpor_endpoint.core.traffic import Touched
from torpor_endpoint.fleet.controller import Controller
from torpor_endpoint.fleet.drains import Drains
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.host import HostError, Launched, LaunchSpec
from torpor_endpoint.host.images import Image, Images
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

BLUE = Variant("a", "old", (Container("torpor", "s3://b/old"),), instance_type="ml.m5.large", instance_count=4)
GREEN = replace(BLUE, model_name="new", containers=(Container("torpor", "s3://b/new"),))
CANARY = RolloutPolicy(
    Strategy.CANARY, CapacitySize(SizeType.CAPACITY_PERCENT, 10), wait_s=300, termination_wait_s=600, alarms=("slow",)
)
ROLLING = RolloutPolicy(
    Strategy.ROLLING, CapacitySize(SizeType.INSTANCE_COUNT, 1), wait_s=60, alarms=("slow",), execution_timeout_s=900
)
SHOP = EndpointRecord("shop", "arn", 1.0, 1.0, EndpointStatus.IN_SERVICE, "old", (BLUE,))


async def reached(true: Callable[[], bool]) -> None:
    """Let virtual time pass until the condition holds."""
    await really_reached(true, look_s=0.25)


class ChoosyHost(FakeHost):
    """`refused` has the digests of variants that get no more instances."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: set[str] = set()

    def __enter__(self) -> "ChoosyHost":
        return self

    async def launch(self, spec: LaunchSpec) -> Launched:
        if spec.configuration in self.refused and spec.slot not in self.left:
            await asyncio.sleep(0.02)
            raise HostError("there is no room")
        return await super().launch(spec)


class LosableImages(Images):
    """Also knows the images `new` and `old`, until they are lost."""

    def __init__(self) -> None:
        super().__init__([Image("new", stands_for="torpor"), Image("old", stands_for="torpor")])
        self.lost: set[str] = set()

    def find(self, image: str) -> Image | None:
        return None if image in self.lost else super().find(image)


@dataclass
class Shop:
    """A control of one endpoint. It may stop, and start anew over the same host and the same records."""

    host: ChoosyHost
    store: Store
    alarms: set[str] = field(default_factory=set)
    images: LosableImages = field(default_factory=LosableImages)
    most: int = 0  # instances that were there at the same time
    fewest: int = 99  # instances that took requests at the same time
    used: bool = False  # by a router
    drains: Drains = field(default_factory=Drains)
    touched: Touched | None = None

    async def open(self) -> None:
        self.roster = FleetRoster()
        clock = asyncio.get_running_loop().time
        self.factory = InstanceFactory(
            self.host,
            lambda variant, slot: LaunchSpec(slot),
            clock,
            images=self.images,
            changed=self._count,
            others=self,
        )
        self.controller = Controller(
            self.store, self.roster, self.factory, clock, self._deleted, alarms_on=self._going_off
        )
        await self.controller.start()
        self._chore = asyncio.create_task(self.controller.watch_rollouts(asyncio.sleep))

    async def close(self, *, detach: bool = False) -> None:
        self._chore.cancel()
        await self.controller.close(detach=detach)

    async def restart(self) -> None:
        await self.close(detach=True)
        self.host.left = set(self.host.living)
        await self.open()

    @property
    def record(self) -> EndpointRecord:
        found = self.store.endpoint("shop")
        assert found is not None
        return found

    @property
    def live(self) -> FleetEndpoint:
        found = self.roster.get("shop")
        assert found is not None
        return found

    @property
    def phase(self) -> RolloutPhase | None:
        return None if self.record.rollout is None else self.record.rollout.phase

    @property
    def ready(self) -> tuple[int, int]:
        """Instances of the old configuration that take requests, and of the new one."""
        pools = self.live.every_pool
        blue = sum(len(pool.ready) for pool in pools if pool.variant.model_name == "old")
        return blue, sum(len(pool.ready) for pool in pools if pool.variant.model_name == "new")

    async def update(self, policy: RolloutPolicy, variant: Variant = GREEN) -> None:
        record = self.record
        pending = replace(record, status=EndpointStatus.UPDATING, pending_config_name="new")
        pending = replace(pending, pending_variants=(variant,), rollout=Rollout(policy), failure_reason=None)
        assert self.store.replace_endpoint(pending, expected_status=record.status)
        self.controller.changed("shop")
        await asyncio.sleep(0.001)

    async def baking(self, step: int) -> None:
        def bakes() -> bool:
            rollout = self.record.rollout
            return rollout is not None and (rollout.phase, rollout.step) == (RolloutPhase.BAKING, step)

        await reached(bakes)

    async def settled(self) -> EndpointRecord:
        await reached(lambda: self.record.status in (EndpointStatus.IN_SERVICE, EndpointStatus.UPDATE_ROLLBACK_FAILED))
        await asyncio.sleep(60.0)
        return self.record

    def shares(self, requests: int = 10_000) -> Counter[str]:
        draw = random.Random(7).random
        return Counter(weighted(self.live.shifting, draw()).variant.model_name for _ in range(requests))

    def _going_off(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name in self.alarms]

    def uses(self, instance: str) -> bool:
        return self.used

    def streams(self, instance: str) -> bool:
        return False

    def _count(self, endpoint: str) -> None:
        if (live := self.roster.get("shop")) is not None and live.every_pool:
            self.most = max(self.most, len(self.host.living))
            self.fewest = min(self.fewest, sum(len(pool.ready) for pool in live.every_pool))

    async def _deleted(self, name: str) -> None:
        pass


def told(story: Callable[[Shop], Awaitable[None]], blue: Variant = BLUE) -> None:
    async def whole() -> None:
        with ChoosyHost() as host:
            database = SqliteFile(":memory:", RECORDS)
            shop = Shop(host, Store(database, lambda: 0.0))
            shop.store.add_endpoint(replace(SHOP, variants=(blue,)))
            await shop.open()
            await reached(lambda: shop.ready == (4, 0))
            shop.most, shop.fewest = 0, 99
            await story(shop)
            await shop.close()
            assert host.living == {}
            database.close()

    with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
        runner.run(whole())


def test_a_canary_gets_its_share_exactly_and_then_all() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(CANARY)
        await shop.baking(1)
        assert shop.ready == (4, 4)
        assert abs(shop.shares()["new"] - 1000) < 4 * sqrt(10_000 * 0.1 * 0.9)
        assert shop.controller.rollouts.quiet_s() == pytest.approx(300, abs=2)
        await shop.baking(2)
        assert shop.shares() == {"new": 10_000}
        assert shop.ready == (4, 4)
        record = await shop.settled()
        assert (record.config_name, record.variants, record.rollout) == ("new", (GREEN,), None)
        assert (shop.ready, shop.live.shift) == ((0, 4), None)

    told(story)


def test_the_metrics_of_both_fleets_name_their_configurations() -> None:
    async def story(shop: Shop) -> None:
        assert [pool.variant.deployed_by for pool in shop.live.every_pool] == [""]
        await shop.update(CANARY, replace(GREEN, deployed_by="new"))
        await shop.baking(1)
        assert {pool.variant.model_name: pool.variant.deployed_by for pool in shop.live.every_pool} == {
            "old": "old",
            "new": "new",
        }

    told(story)


def test_an_alarm_brings_all_traffic_back_to_the_old_fleet() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(CANARY)
        await shop.baking(1)
        shop.alarms.add("slow")
        record = await shop.settled()
        assert (record.config_name, record.variants, shop.ready) == ("old", (BLUE,), (4, 0))
        assert record.failure_reason == "CloudWatch alarms went off while the deployment baked: slow."
        assert shop.fewest >= 4

    told(story)


def test_a_green_fleet_that_cannot_start_leaves_the_old_one_alone() -> None:
    async def story(shop: Shop) -> None:
        shop.host.refused.add(shop.factory.digest(GREEN))
        await shop.update(CANARY)
        record = await shop.settled()
        assert (record.status, record.config_name, shop.ready) == (EndpointStatus.IN_SERVICE, "old", (4, 0))
        assert "there is no room" in (record.failure_reason or "")

    told(story)


def test_the_time_limit_counts_while_instances_start_too() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(replace(CANARY, execution_timeout_s=0.01))
        record = await shop.settled()
        assert (record.config_name, shop.ready) == ("old", (4, 0))
        assert "MaximumExecutionTimeoutInSeconds" in (record.failure_reason or "")

    told(story)


def test_a_rolling_update_never_has_more_than_one_batch_beyond_nor_fewer_than_the_fleet() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(ROLLING)
        await shop.baking(2)
        assert shop.ready == (3, 2)
        assert abs(shop.shares()["new"] - 5000) < 4 * sqrt(10_000 * 0.5 * 0.5)
        record = await shop.settled()
        assert (record.config_name, shop.ready) == ("new", (0, 4))
        assert (shop.most, shop.fewest) == (5, 4)

    told(story)


def test_a_rolling_update_brings_the_old_instances_back() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(replace(ROLLING, rollback_size=CapacitySize(SizeType.INSTANCE_COUNT, 1)))
        await shop.baking(3)
        assert shop.ready == (2, 3)
        shop.alarms.add("slow")
        record = await shop.settled()
        assert (record.config_name, shop.ready) == ("old", (4, 0))
        assert shop.fewest >= 4

    told(story)


def test_a_rollback_that_fails_leaves_both_fleets_and_another_update_mends_it() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(ROLLING)
        await shop.baking(3)
        shop.host.refused.add(shop.factory.digest(BLUE))
        shop.alarms.add("slow")
        record = await shop.settled()
        assert record.status is EndpointStatus.UPDATE_ROLLBACK_FAILED
        assert "The rollback failed" in (record.failure_reason or "")
        assert shop.ready == (2, 3)
        await shop.restart()
        await reached(lambda: shop.ready == (2, 3))
        await shop.update(ROLLING, replace(GREEN, containers=(Container("torpor", "s3://b/third"),)))
        record = await shop.settled()
        assert (record.status, record.config_name, shop.ready) == (EndpointStatus.IN_SERVICE, "new", (0, 4))
        assert len(shop.host.living) == 4

    told(story)


@pytest.mark.parametrize("policy", [*thorough(CANARY), ROLLING])
def test_a_control_that_starts_anew_in_mid_rollout_adopts_both_fleets_and_goes_on(policy: RolloutPolicy) -> None:
    async def story(shop: Shop) -> None:
        await shop.update(policy)
        await shop.baking(2)
        before = {slot: one.launched.incarnation for slot, one in shop.host.living.items()}
        was = shop.ready
        await shop.restart()
        await reached(lambda: shop.ready == was)
        assert {slot: one.launched.incarnation for slot, one in shop.host.living.items()} == before
        record = await shop.settled()
        assert (record.config_name, shop.ready, len(shop.host.living)) == ("new", (0, 4), 4)

    told(story)


def test_a_restart_in_every_moment_ends_in_the_new_fleet() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(replace(ROLLING, wait_s=1, execution_timeout_s=None))
        shop.host.dies_slowly_s = 0.05
        seen = set[tuple[RolloutPhase, int]]()
        while (rollout := shop.record.rollout) is not None:
            moment = (rollout.phase, rollout.step)
            if moment not in seen:
                seen.add(moment)
                await shop.restart()
            await asyncio.sleep(0.003)
        assert len(seen) >= 10
        record = await shop.settled()
        assert (record.config_name, shop.ready, len(shop.host.living)) == ("new", (0, 4), 4)

    told(story)


def test_a_restart_that_cannot_go_on_rolls_back_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def story(shop: Shop) -> None:
        await shop.update(CANARY)
        await shop.baking(1)
        stored = shop.record
        assert stored.pending_variants is not None
        unknown = replace(GREEN, containers=(Container("an-image-that-nobody-knows", "s3://b/new"),))
        shop.store.replace_endpoint(replace(stored, pending_variants=(unknown,)), expected_status=stored.status)
        await shop.restart()
        record = await shop.settled()
        assert (record.config_name, shop.ready, len(shop.host.living)) == ("old", (4, 0), 4)
        assert "cannot go on after a restart" in (record.failure_reason or "")

    told(story)
    assert "its rollout is rolled back after a restart" in caplog.text


OF_A_NEW_IMAGE = replace(GREEN, containers=(Container("new", "s3://b/new"),))


@pytest.mark.parametrize(
    ("policy", "phase"),
    [
        (CANARY, RolloutPhase.BAKING),
        (ROLLING, RolloutPhase.DELETING),
        pytest.param(CANARY, RolloutPhase.DELETING, marks=pytest.mark.thorough),
        pytest.param(ROLLING, RolloutPhase.BAKING, marks=pytest.mark.thorough),
    ],
)
def test_a_restart_without_the_new_image_ends_the_new_fleet_and_makes_the_old_one_whole(
    policy: RolloutPolicy, phase: RolloutPhase
) -> None:
    async def story(shop: Shop) -> None:
        await shop.update(policy, OF_A_NEW_IMAGE)
        await shop.baking(2)
        shop.host.dies_slowly_s = 1.0
        await reached(lambda: shop.phase is phase)
        shop.images.lost.add("new")
        await shop.restart()
        record = await shop.settled()
        assert (record.status, record.config_name) == (EndpointStatus.IN_SERVICE, "old")
        assert (shop.ready, len(shop.host.living)) == ((4, 0), 4)
        assert "cannot go on after a restart" in (record.failure_reason or "")

    told(story)


def test_a_restart_between_two_configurations_without_the_new_image_serves_the_old_one() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(ROLLING, OF_A_NEW_IMAGE)
        await shop.baking(3)
        shop.host.refused.add(shop.factory.digest(BLUE))
        shop.alarms.add("slow")
        assert (await shop.settled()).status is EndpointStatus.UPDATE_ROLLBACK_FAILED
        shop.images.lost.add("new")
        shop.host.refused.clear()
        await shop.restart()
        await reached(lambda: shop.ready == (4, 0) and len(shop.host.living) == 4)

    told(story)


OLD_IMAGE = replace(BLUE, containers=(Container("old", "s3://b/old"),))


@pytest.mark.parametrize("policy", [CANARY, *thorough(ROLLING)])
@pytest.mark.parametrize("alarmed", [False, True])
def test_a_restart_without_the_old_image_serves_the_new_fleet_and_says_why(
    policy: RolloutPolicy, alarmed: bool
) -> None:
    async def story(shop: Shop) -> None:
        await shop.update(policy)
        await shop.baking(2)
        before = {
            one.launched.incarnation
            for one in shop.host.living.values()
            if one.launched.is_of(shop.factory.digest(GREEN))
        }
        if alarmed:
            shop.host.dies_slowly_s = 5.0
            shop.alarms.add("slow")
            await reached(lambda: shop.record.status is EndpointStatus.ROLLING_BACK)
        shop.images.lost.add("old")
        await shop.restart()
        await reached(lambda: shop.ready == (0, 4) and len(shop.host.living) == 4)
        record = await shop.settled()
        ended = EndpointStatus.UPDATE_ROLLBACK_FAILED if alarmed else EndpointStatus.IN_SERVICE
        assert (record.status, record.config_name, record.rollout) == (ended, "new", None)
        assert "the old configuration cannot be served any more" in (record.failure_reason or "")
        assert alarmed == ("CloudWatch alarms went off" in (record.failure_reason or ""))
        assert shop.live.trouble is None
        if not alarmed:
            assert before <= {one.launched.incarnation for one in shop.host.living.values()}

    told(story, OLD_IMAGE)


def test_a_restart_without_either_image_ends_the_update_and_says_why() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(CANARY, OF_A_NEW_IMAGE)
        await shop.baking(1)
        shop.images.lost = {"old", "new"}
        await shop.restart()
        record = await shop.settled()
        assert (record.status, record.config_name) == (EndpointStatus.IN_SERVICE, "old")
        assert "The image new" in (record.failure_reason or "")
        assert "The image old" in (shop.live.trouble or "")
        shop.images.lost.clear()
        await shop.restart()
        await reached(lambda: shop.ready == (4, 0) and len(shop.host.living) == 4)

    told(story, OLD_IMAGE)


def test_an_old_fleet_that_cannot_start_again_gets_no_traffic_back() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(CANARY)
        await shop.baking(1)
        shop.host.refused.add(shop.factory.digest(BLUE))
        for one in [one for one in shop.host.living.values() if one.launched.is_of(shop.factory.digest(BLUE))]:
            one.die()
        await reached(lambda: shop.ready == (0, 4))
        shop.alarms.add("slow")
        record = await shop.settled()
        assert record.status is EndpointStatus.UPDATE_ROLLBACK_FAILED
        assert "The rollback failed" in (record.failure_reason or "")
        assert shop.shares() == {"new": 10_000}

    told(story)


def test_an_update_that_fails_between_two_configurations_makes_the_old_fleet_whole() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(ROLLING)
        await shop.baking(3)
        shop.host.refused.add(shop.factory.digest(BLUE))
        shop.alarms.add("slow")
        assert (await shop.settled()).status is EndpointStatus.UPDATE_ROLLBACK_FAILED
        shop.host.refused = {shop.factory.digest(OF_A_NEW_IMAGE)}
        await shop.update(ROLLING, OF_A_NEW_IMAGE)
        record = await shop.settled()
        assert (record.status, record.config_name) == (EndpointStatus.IN_SERVICE, "old")
        assert (shop.ready, len(shop.host.living)) == ((4, 0), 4)

    told(story)


def test_an_old_fleet_ends_as_soon_as_no_router_uses_it() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(replace(CANARY, wait_s=1, termination_wait_s=1))
        shop.used = True
        await reached(lambda: shop.phase is RolloutPhase.DELETING)
        assert len(shop.host.living) == 8
        shop.used = False  # nothing in the pool changes by it
        shop.drains.look_again()
        await asyncio.sleep(1.0)
        assert len(shop.host.living) == 4

    told(story)


def test_instances_that_can_serve_both_configurations_stay() -> None:
    async def story(shop: Shop) -> None:
        before = {one.launched.incarnation for one in shop.host.living.values()}
        await shop.update(CANARY, replace(BLUE, weight=2.0))
        await shop.baking(2)
        record = await shop.settled()
        assert (record.config_name, shop.live.pools["a"].variant.weight) == ("new", 2.0)
        assert {one.launched.incarnation for one in shop.host.living.values()} == before

    told(story)


def test_a_deleted_endpoint_between_two_configurations_leaves_nothing() -> None:
    async def story(shop: Shop) -> None:
        await shop.update(ROLLING)
        await shop.baking(3)
        shop.host.refused.add(shop.factory.digest(BLUE))
        shop.alarms.add("slow")
        await shop.settled()
        record = shop.record
        shop.store.replace_endpoint(replace(record, status=EndpointStatus.DELETING), expected_status=record.status)
        shop.controller.changed("shop")
        await reached(lambda: shop.store.endpoint("shop") is None)
        assert shop.host.living == {}

    told(story)
