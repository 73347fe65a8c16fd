"""What a router does with the table that it follows, and when it stops."""

import asyncio
from dataclasses import replace
from typing import Any

from tests.endpoint.helpers.virtual_time import run
from tests.helpers.waiting import reached
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.core.routing.table_differences import TableVersion
from torpor_endpoint.in_service.incarnation import ATTEMPTS, StartTrouble
from torpor_endpoint.routing.protocol.routing_table import RoutedEndpoint, RoutedVariant, RoutingTable
from torpor_endpoint.routing.router.control_client import ControlClient
from torpor_endpoint.routing.router.following import PAUSES_S, FollowedEndpoint, FollowedRoster, TableFollower, pause_s
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.app import AccountAndRegion, Clocks, RuntimeApp
from torpor_endpoint.runtime.observing.observers import Observers
from torpor_endpoint.runtime.passage import Passage
from torpor_endpoint.runtime.sending import RequestSender

ASLEEP = Variant("v", "m", (Container("torpor"),), instances_min=0)


class Control(ControlClient):
    """A control that takes every wake, and starts nothing."""

    def __init__(self) -> None:
        super().__init__("http://nowhere")
        self.woken: list[tuple[str, str]] = []
        self.faults = 0
        """So many wakes fail as no wake should."""

    async def wake(self, endpoint: str, variant: str) -> None:
        if self.faults:
            self.faults -= 1
            raise RuntimeError("can't start new thread")
        self.woken.append((endpoint, variant))


def table(variant: RoutedVariant, number: int = 1) -> RoutingTable:
    return RoutingTable(TableVersion("control", number), (RoutedEndpoint("shop", "arn", None, (variant,)),))


class BoundedRouter(Router):
    """Routes no request for ever."""

    def __init__(self, roster: FollowedRoster) -> None:
        super().__init__(roster, lambda: 0.0, strict=False)
        self._routed = 0

    def route(self, passage: Passage) -> None:
        self._routed += 1
        assert self._routed < 100, "a request is routed again and again"
        super().route(passage)


class Following:
    """A router of one endpoint, with its runtime API."""

    def __init__(self) -> None:
        self.roster = FollowedRoster()
        self.control = Control()
        self.follower = TableFollower(self.control, self.roster)
        clock = asyncio.get_running_loop().time
        router, sender = BoundedRouter(self.roster), RequestSender(clock, strict=False)
        self.app = RuntimeApp(router, sender, Observers([]), AccountAndRegion("1"), Clocks(clock, clock))

    async def status(self, operation: str = "invocations") -> int:
        """The status of the answer to a request."""
        sent: list[Any] = []
        body = [{"type": "http.request", "body": b"1,2"}]

        async def receive() -> dict[str, Any]:
            return body.pop() if body else await asyncio.Future()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app({"type": "http", "path": f"/endpoints/shop/{operation}", "headers": []}, receive, send)
        status: int = sent[0]["status"]
        return status

    @property
    def held(self) -> int:
        live = self.roster.get("shop")
        return 0 if live is None else live.pools["v"].traffic.held


def test_a_router_that_stops_has_those_who_wait_and_those_who_come_try_again() -> None:
    async def story() -> None:
        router = Following()
        router.follower.apply(table(RoutedVariant(ASLEEP, 0, None, {})))
        operations = ("invocations", "invocations-response-stream")
        held = [asyncio.create_task(router.status(operation)) for operation in operations]
        await reached(lambda: router.held == 2)
        router.follower.close()
        assert await asyncio.gather(*held) == [503, 503]
        assert [await router.status(operation) for operation in operations] == [503, 503]

    run(story())


def test_a_variant_at_zero_whose_last_starts_failed_is_woken_and_its_new_starts_count() -> None:
    async def story() -> None:
        trouble = StartTrouble("the model cannot be read", ATTEMPTS, final=False)
        router = Following()
        router.follower.apply(table(RoutedVariant(ASLEEP, 0, trouble, {})))
        held = asyncio.create_task(router.status())
        await reached(lambda: router.control.woken == [("shop", "v")])
        router.follower.apply(table(RoutedVariant(ASLEEP, 0, trouble, {}), 2))  # made before the wake came
        await asyncio.sleep(0.02)
        assert router.held == 1
        router.follower.apply(table(RoutedVariant(ASLEEP, 1, trouble, {}), 3))
        assert await held == 429
        router.follower.close()

    run(story())


def test_a_wake_that_fails_is_tried_again() -> None:
    async def story() -> None:
        router = Following()
        router.control.faults = 2
        router.follower.apply(table(RoutedVariant(ASLEEP, 0, None, {})))
        held = asyncio.create_task(router.status())
        await asyncio.sleep(3.0)
        assert router.control.woken
        router.follower.close()
        assert await held == 503

    run(story())


def test_a_router_follows_both_fleets_of_a_rollout_and_their_shares() -> None:
    async def story() -> None:
        router = Following()
        green = replace(ASLEEP, containers=(Container("torpor", "s3://b/new"),))
        blue, coming = RoutedVariant(ASLEEP, 0, None, {}), RoutedVariant(green, 0, None, {})
        router.follower.apply(table(blue))
        old = followed(router).pools["v"]
        shifting = RoutedEndpoint("shop", "arn", None, (blue,), (coming,), {"v": 0.25})
        router.follower.apply(RoutingTable(TableVersion("control", 2), (shifting,)))
        live = followed(router)
        new = live.by_key["v/coming"]
        assert live.shifting == ((old, 0.75), (new, 0.25))
        assert (live.pools["v"], old.closed) == (old, False)
        router.follower.apply(table(coming, 3))
        assert (followed(router).pools["v"], followed(router).shifting) == (new, ())
        assert (old.closed, new.closed) == (True, False)
        router.follower.close()

    run(story())


def test_a_variant_whose_instances_serve_both_configurations_has_one_pool() -> None:
    async def story() -> None:
        router = Following()
        router.follower.apply(table(RoutedVariant(ASLEEP, 0, None, {})))
        shifting = RoutedEndpoint("shop", "arn", None, (RoutedVariant(ASLEEP, 0, None, {}),), (), {"v": 0.25})
        router.follower.apply(RoutingTable(TableVersion("control", 2), (shifting,)))
        assert len(followed(router).every_pool) == 1
        router.follower.close()

    run(story())


def followed(router: Following) -> FollowedEndpoint:
    live = router.roster.get("shop")
    assert live is not None
    return live


def test_the_pauses_grow_with_the_tries_up_to_the_longest() -> None:
    assert [pause_s(tries) for tries in range(1, 7)] == [*PAUSES_S, PAUSES_S[-1], PAUSES_S[-1]]
