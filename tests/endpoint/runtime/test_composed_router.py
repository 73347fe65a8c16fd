"""The router of one process, composed: what it draws, whom it tells of requests, and how it closes."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.core.routing.table_differences import TableVersion
from torpor_endpoint.in_service.served_endpoints import Roster
from torpor_endpoint.routing.protocol.routing_table import RoutedEndpoint, RoutedVariant, RoutingTable
from torpor_endpoint.routing.router.control_client import ControlClient
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower
from torpor_endpoint.routing.router.reports.pending_accounts import LedgerRows, MeterRows, PendingAccounts
from torpor_endpoint.runtime.app import AccountAndRegion
from torpor_endpoint.runtime.composed_router import CAPTURE_STOP_S, TELEMETRY_STOP_S, ComposedRouter, RouterSite
from torpor_endpoint.runtime.observing.observers import BatchObserver
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, routed

TWO = [Variant(name, "m", (Container("torpor"),), weight=1.0) for name in "ab"]


def two_variants() -> FollowedRoster:
    """An endpoint with two variants of equal weights, which have no instance."""
    roster: FollowedRoster = Roster()
    variants = tuple(RoutedVariant(variant, 0, None, {}) for variant in TWO)
    follower = TableFollower(ControlClient("http://nowhere"), roster)
    follower.apply(RoutingTable(TableVersion("control", 1), (RoutedEndpoint("shop", "arn", None, variants),)))
    return roster


def site(**more: Any) -> RouterSite:
    accounts = PendingAccounts()
    plain = RouterSite(
        roster=two_variants(),
        account=AccountAndRegion("123456789012"),
        strict=False,
        ledger=LedgerRows(accounts),
        meters=MeterRows(accounts),
        capture_store=lambda file: None,  # type: ignore[arg-type,return-value]  # nothing is captured
    )
    return replace(plain, **more)


def drawn(seed: int) -> list[str]:
    """The variants of thirty requests."""
    router = ComposedRouter(site(seed=seed))
    names = []
    for _ in range(30):
        request = passage("shop")
        router.steps.route(request)
        names.append(routed(request).pool.variant.name)
    return names


def test_the_same_seed_gives_the_same_draws_by_weight() -> None:
    async def story() -> None:
        assert drawn(7) == drawn(7) != drawn(8)
        assert set(drawn(7)) == {"a", "b"}

    run(story())


@dataclass
class HangingTracer:
    """A collector that never takes the last spans."""

    observers: list[BatchObserver] = field(default_factory=list)
    settled: int = 0

    def begin(self, request: Passage) -> None: ...

    def settle(self) -> None:
        self.settled += 1

    async def close(self) -> None:
        await asyncio.Future()


class Seen:
    """An access log that notes what it is told."""

    def __init__(self) -> None:
        self.requests: list[Passage] = []

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        self.requests.append(request)

    def ended_alike(self, alike: Any, requests: Any, served: Any) -> None:
        self.requests.extend(requests)


def test_a_collector_that_hangs_delays_the_end_for_a_bounded_time_and_every_request_is_counted() -> None:
    async def story() -> None:
        seen, loop = Seen(), asyncio.get_running_loop()
        router = ComposedRouter(site(tracer=HangingTracer(), access_log=seen))
        request = passage("shop")
        router.observers.account(request, InvokeAnswer(200, [], []))
        assert seen.requests == []  # several are told together
        began_s = loop.time()
        await router.close()
        assert seen.requests == [request]
        assert loop.time() - began_s <= CAPTURE_STOP_S + TELEMETRY_STOP_S

    run(story())


def test_settling_counts_lost_spans_too() -> None:
    async def story() -> None:
        tracer = HangingTracer()
        ComposedRouter(site(tracer=tracer)).settle()
        assert tracer.settled == 1

    run(story())
