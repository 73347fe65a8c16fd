"""Which requests are copied for a shadow variant, how many copies are in flight, and what becomes of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from tests.helpers.waiting import reached
from torpor_container.transport.upstream import JOINED_MAX_BYTES
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.traffic import ShadowLimits
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import Passage, Route, Served
from torpor_endpoint.runtime.sending import RequestSender
from torpor_endpoint.runtime.shadowing import (
    TOGETHER,
    WAITING_MAX,
    WITHIN_S,
    CopyEnds,
    Outcome,
    Shadowing,
    copy_of,
)
from torpor_endpoint.telemetry.trace_context import SAMPLED, RequestTrace

SERVED = Served(UpstreamAnswer(200, [], [b"answer"]), "i-1", 1, 1, 0.25)
BROKEN = RuntimeFault(Situation.MODEL_SERVER, original=(500, ""))
REFUSED = RuntimeFault(Situation.THROTTLED)


class Shop:
    """An endpoint with a production variant and a shadow variant, whose instance takes frames and does not answer."""

    def __init__(self, production: PoolOnFakeHost, shadow: PoolOnFakeHost, limits: ShadowLimits) -> None:
        self.shadow = shadow
        shadow.pool.variant = replace(shadow.pool.variant, shadow=True)
        self.live = FleetEndpoint("shop", "arn", {"p": production.pool, "v": shadow.pool})
        self.drawn = 0.0
        self.dropped: list[tuple[str, str]] = []
        self.began: list[Passage] = []
        self.ended: list[tuple[Passage, Outcome]] = []
        router, sender = Router(FleetRoster(), lambda: 0.0, strict=False), RequestSender(shadow.now, strict=False)
        self.shadowing = Shadowing(router, sender, shadow.now, lambda: self.drawn, self._drop, limits)

    def _drop(self, endpoint: str, variant: str, at_s: float) -> None:
        self.dropped.append((endpoint, variant))

    def copy(self, body: bytes = b"1", outcome: Outcome = SERVED, variant: str = "p") -> Passage:
        """Ends a request of this variant, and copies it at once."""
        request = self.end(body, outcome, variant)
        self.shadowing.settle()
        return request

    def end(self, body: bytes = b"1", outcome: Outcome = SERVED, variant: str = "p") -> Passage:
        """Ends a request of this variant, and releases its body."""
        route = Route(self.live, variant, self.live.pools[variant], None)
        request = passage("shop", route=route)
        request.body, request.request_bytes, request.outcome = [body], len(body), outcome
        ends = CopyEnds(self.began.append, lambda copy, outcome: self.ended.append((copy, outcome)))
        self.shadowing.copy(request, route, ends)
        request.body.clear()
        return request

    @property
    def in_flight(self) -> int:
        return self.shadow.pool.traffic.in_flight


@asynccontextmanager
async def shop(limits: ShadowLimits | None = None, instances: int = 1) -> AsyncIterator[Shop]:
    with FakeHost() as host, FakeHost() as other:
        shadow = PoolOnFakeHost(host)
        await shadow.ready(instances)
        yield Shop(PoolOnFakeHost(other), shadow, limits or ShadowLimits())
        await shadow.pool.close("the test ends")


def test_a_draw_below_the_share_makes_a_copy() -> None:
    async def story() -> None:
        async with shop() as endpoint:
            endpoint.shadow.pool.variant = replace(endpoint.shadow.pool.variant, weight=0.25)
            for endpoint.drawn in (0.0, 0.24, 0.25, 0.99):
                endpoint.copy()
            assert endpoint.in_flight == 2

    run(story())


@pytest.mark.parametrize(
    ("outcome", "variant", "copies"), [(SERVED, "p", 1), (BROKEN, "p", 1), (REFUSED, "p", 0), (SERVED, "v", 0)]
)
def test_only_what_an_instance_of_production_got_is_copied(outcome: Outcome, variant: str, copies: int) -> None:
    async def story() -> None:
        async with shop() as endpoint:
            endpoint.copy(outcome=outcome, variant=variant)
            assert (endpoint.in_flight, endpoint.dropped) == (copies, [])

    run(story())


@pytest.mark.parametrize("limits", [ShadowLimits(requests=2), ShadowLimits(bytes=2)])
def test_a_copy_beyond_a_bound_is_dropped_until_another_ends(limits: ShadowLimits) -> None:
    async def story() -> None:
        async with shop(limits) as endpoint:
            for _ in range(3):
                endpoint.copy()
            assert (endpoint.in_flight, endpoint.dropped, endpoint.ended) == (2, [("shop", "v")], [])
            (instance,) = endpoint.shadow.host.living.values()
            instance.die()
            await reached(lambda: len(endpoint.ended) == 2)
            endpoint.copy()
            assert len(endpoint.dropped) == 1

    run(story())


def test_a_copy_shares_the_chunks_of_the_body_and_outlives_them_in_the_request() -> None:
    async def story() -> None:
        async with shop() as endpoint:
            body = b"1,2"
            endpoint.copy(body)
            (instance,) = endpoint.shadow.host.living.values()
            instance.die()
            await reached(lambda: endpoint.ended)
            ((copy, outcome),) = endpoint.ended
            assert endpoint.began == [copy]
            assert copy.body[0] is body
            assert isinstance(outcome, RuntimeFault)
            assert (copy.route and copy.route.variant, copy.request_id) == ("v", "1")

    run(story())


def test_copies_leave_together_while_a_callers_request_is_in_its_instance() -> None:
    async def story() -> None:
        async with shop() as endpoint:
            for _ in range(TOGETHER - 1):
                endpoint.end()
            endpoint.shadowing.meanwhile()
            assert endpoint.in_flight == 0
            endpoint.end()
            assert endpoint.in_flight == 0
            endpoint.shadowing.meanwhile()
            assert endpoint.in_flight == TOGETHER

    run(story())


def test_a_copy_is_sent_soon_where_no_other_caller_calls() -> None:
    async def story() -> None:
        async with shop() as endpoint:
            for sent in (2, 4):  # the time begins anew with each first one
                endpoint.end()
                await asyncio.sleep(WITHIN_S * 0.9)
                endpoint.end()
                assert endpoint.in_flight == sent - 2
                await asyncio.sleep(WITHIN_S * 0.2)
                assert endpoint.in_flight == sent

    run(story())


@pytest.mark.parametrize(("requests", "body"), [(1, bytes(JOINED_MAX_BYTES + 1)), (WAITING_MAX, b"1")])
def test_what_waits_to_be_copied_is_bounded(requests: int, body: bytes) -> None:
    async def story() -> None:
        async with shop() as endpoint:
            for _ in range(requests):
                assert endpoint.in_flight == 0
                endpoint.end(body)
            assert not endpoint.shadowing.waiting
            await reached(lambda: endpoint.in_flight == requests)  # a task sends a large body

    run(story())


def test_a_copy_begins_when_it_is_sent() -> None:
    async def story() -> None:
        async with shop() as endpoint:
            ended_s = endpoint.shadow.now()
            endpoint.end()
            await asyncio.sleep(WITHIN_S)
            (instance,) = endpoint.shadow.host.living.values()
            instance.die()
            await reached(lambda: endpoint.ended)
            ((copy, _),) = endpoint.ended
            assert copy.began_s - ended_s == pytest.approx(WITHIN_S)

    run(story())


def test_a_copy_has_a_place_of_its_own_in_the_request_s_trace() -> None:
    with FakeHost() as host:
        pool = PoolOnFakeHost(host).pool
    route = Route(FleetEndpoint("shop", "arn", {"v": pool}), "v", pool, None)
    request = passage("shop", route=route)
    request.trace = RequestTrace(7, 8, SAMPLED, None, b"", b"", lambda: 9)
    copy = copy_of(request, route, [], 0.0)
    assert isinstance(copy.trace, RequestTrace)
    assert (copy.trace.trace_id, copy.trace.parent_id, copy.trace.span_id) == (7, 8, 9)


def multi_model(endpoint: Shop) -> None:
    variant = endpoint.shadow.pool.variant
    endpoint.shadow.pool.variant = replace(variant, containers=(replace(variant.containers[0], multi_model=True),))


@pytest.mark.parametrize("change", [multi_model])
def test_a_copy_that_the_shadow_refuses_is_dropped_and_ends(change: Callable[[Shop], None]) -> None:
    async def story() -> None:
        async with shop() as endpoint:
            change(endpoint)
            endpoint.copy()
            assert endpoint.dropped == [("shop", "v")]
            ((_, outcome),) = endpoint.ended
            assert isinstance(outcome, RuntimeFault)
            assert outcome.situation is Situation.TARGET_MISSING

    run(story())


def test_a_copy_for_a_sleeping_shadow_wakes_it_and_ends_with_its_pool() -> None:
    async def story() -> None:
        async with shop(instances=0) as endpoint:
            endpoint.shadow.host.launches_to_fail = 1
            endpoint.copy()
            await reached(lambda: endpoint.shadow.pool.size == 1)
            await endpoint.shadow.pool.close("its endpoint was updated")
            await reached(lambda: endpoint.ended)
            assert (endpoint.in_flight, endpoint.dropped) == (0, [("shop", "v")])

    run(story())
