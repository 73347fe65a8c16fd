"""During a rollout each request is drawn for one of two fleets, by their shares; a session stays with its fleet."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from math import sqrt

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.routing.weighted_choice import weighted
from torpor_endpoint.core.sending.machine import SESSION_ID
from torpor_endpoint.core.sessions import SessionHolder, SessionKey
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.served_endpoints import TrafficShift
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.errors import RuntimeFault
from torpor_endpoint.runtime.passage import Passage
from torpor_endpoint.runtime.request import TARGET_VARIANT

REQUESTS = 10_000


class Shop:
    """An endpoint of one variant, with both of its fleets."""

    def __init__(self, blue: InstancePool, green: InstancePool) -> None:
        self.blue, self.green = blue, green
        self.live = FleetEndpoint("shop", "arn", {"v": blue})
        roster = FleetRoster()
        roster.serve(self.live)
        self.router = Router(roster, random.Random(11).random, strict=False)

    def shift(self, share: float) -> None:
        self.live.serve({"v": self.blue}, TrafficShift({"v": self.green}, {"v": share}))

    def routed(self, sent: Passage) -> InstancePool:
        self.router.route(sent)
        assert sent.route is not None
        assert isinstance(sent.route.pool, InstancePool)
        return sent.route.pool


def told(story: Callable[[Shop], Awaitable[None]]) -> None:
    async def whole() -> None:
        with FakeHost() as one, FakeHost() as two:
            await story(Shop(PoolOnFakeHost(one).pool, PoolOnFakeHost(two).pool))

    run(whole())


def test_where_all_weights_are_0_the_first_variant_has_all_traffic_as_without_a_rollout() -> None:
    async def story(shop: Shop) -> None:
        for pool in (shop.blue, shop.green):
            pool.become(replace(pool.variant, weight=0.0))
        other = replace(shop.blue.variant, name="w")
        with FakeHost() as host:
            second = PoolOnFakeHost(host).pool
            second.become(other)
            pools = {"v": shop.blue, "w": second}
            shop.live.serve(pools, TrafficShift({"v": shop.green, "w": second}, {"v": 0.5, "w": 0.5}))
            drawn = Counter(weighted(shop.live.shifting, number / 100) for number in range(100))
            assert drawn == {shop.blue: 50, shop.green: 50}

    told(story)


@pytest.mark.parametrize("headers", [[], [(TARGET_VARIANT, b"v")], [(SESSION_ID, b"of-nobody")]])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_share_holds_within_the_bounds_of_chance(headers: list[tuple[bytes, bytes]], share: float) -> None:
    async def story(shop: Shop) -> None:
        shop.shift(share)
        seen = Counter(shop.routed(passage("shop", *headers)) for _ in range(REQUESTS))
        assert abs(seen[shop.green] - share * REQUESTS) < 4 * sqrt(REQUESTS * share * (1 - share))
        assert seen[shop.blue] + seen[shop.green] == REQUESTS

    told(story)


def test_a_share_holds_for_calls_that_name_a_variant_without_a_weight() -> None:
    async def story(shop: Shop) -> None:
        for fleet in (shop.blue, shop.green):
            fleet.variant = replace(fleet.variant, weight=0.0)
        shop.shift(0.5)
        seen = Counter(shop.routed(passage("shop", (TARGET_VARIANT, b"v"))) for _ in range(REQUESTS))
        assert abs(seen[shop.green] - REQUESTS / 2) < 2 * sqrt(REQUESTS)

    told(story)


@pytest.mark.parametrize(("share", "fleet"), [(0.0, "blue"), (1.0, "green")])
def test_a_share_of_nothing_and_one_of_all_hold_for_each_request(share: float, fleet: str) -> None:
    async def story(shop: Shop) -> None:
        shop.shift(share)
        assert {shop.routed(passage("shop")) for _ in range(1000)} == {getattr(shop, fleet)}

    told(story)


def test_a_session_stays_with_the_fleet_that_has_it() -> None:
    async def story(shop: Shop) -> None:
        shop.shift(0.9)
        for fleet, session in ((shop.blue, b"old"), (shop.green, b"new")):
            fleet.sessions.began(SessionKey(None, session), SessionHolder(0, "i-1"))
            assert {shop.routed(passage("shop", (SESSION_ID, session))) for _ in range(200)} == {fleet}

    told(story)


def test_a_request_keeps_its_fleet_whichever_way_it_goes() -> None:
    async def story(shop: Shop) -> None:
        shop.shift(0.5)
        for _ in range(100):
            sent = passage("shop")
            assert shop.routed(sent) is shop.routed(sent)

    told(story)


def test_a_head_that_was_seen_before_is_drawn_anew_and_is_known_again_after_the_rollout() -> None:
    async def story(shop: Shop) -> None:
        sent = passage("shop")
        assert sent.request is not None
        assert shop.routed(sent) is shop.blue
        assert sent.request.way is not None
        shop.shift(1.0)
        assert shop.routed(sent) is shop.green
        assert sent.request.way is None
        shop.live.serve({"v": shop.green})
        assert shop.routed(sent) is shop.green
        assert sent.request.way is not None

    told(story)


def test_a_variant_that_is_not_there_is_refused_during_a_rollout_too() -> None:
    async def story(shop: Shop) -> None:
        shop.shift(0.5)
        with pytest.raises(RuntimeFault):
            shop.routed(passage("shop", (TARGET_VARIANT, b"w")))

    told(story)
