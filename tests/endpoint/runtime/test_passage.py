"""A request takes the same steps whether it may wait or not; only observers keep its body and answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.resource_records import Serverless
from torpor_endpoint.core.sending.trail import COLD
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.app import AccountAndRegion, Clocks, RuntimeApp
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.observing.observers import BodyObserver, Observers
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Route, Served
from torpor_endpoint.runtime.passage_end import PassageEnd
from torpor_endpoint.runtime.sending import RequestSender
from torpor_endpoint.runtime.shadowing import Shadowing

CLOCKS = Clocks(lambda: 1_700_000_000.0, lambda: 0.0)


class Answering(RequestSender):
    """Answers for an instance: with a status and a body of two chunks."""

    def __init__(self, status: int) -> None:
        super().__init__(lambda: 0.0, strict=False)
        self._status = status

    def _served(self) -> Served:
        return Served(UpstreamAnswer(self._status, [], [b"much", b"more"]), "i-1", 1, 1, 0.25)

    async def send(self, passage: Passage, sent: Callable[[], None] | None = None) -> Served:
        if sent is not None:
            sent()
        return self._served()

    def send_inline(self, passage: Passage, then: Callable[[Served | RuntimeFault | None], None]) -> bool:
        then(self._served())
        return True


class Gone(Answering):
    """The instance to which a request is sent inline has just ended; the second attempt has the outcome."""

    def __init__(self, outcome: int | Exception) -> None:
        super().__init__(outcome if isinstance(outcome, int) else 200)
        self._then = outcome

    async def send(self, passage: Passage, sent: Callable[[], None] | None = None) -> Served:
        if isinstance(self._then, Exception):
            raise self._then
        return await super().send(passage, sent)

    def send_inline(self, passage: Passage, then: Callable[[Served | RuntimeFault | None], None]) -> bool:
        then(None)
        return True


class Ended(Observers):
    """Keeps the requests that have ended."""

    def __init__(self, *single: BodyObserver) -> None:
        super().__init__([], single)
        self.requests: list[Passage] = []
        self.answers: list[InvokeAnswer] = []

    def account(self, request: Passage, answer: InvokeAnswer) -> None:
        self.requests.append(request)
        self.answers.append(answer)


@dataclass
class Capture:
    """An observer that reads bodies, of all requests or of none."""

    wanted: bool = True
    seen: list[tuple[bytes, int, bytes]] = field(default_factory=list)
    asked: int = 0

    def may_read(self, route: Route) -> bool:
        return True

    def reads(self, request: Passage) -> bool:
        self.asked += 1
        request.wants_version = self.wanted
        return self.wanted

    def missed(self, request: Passage) -> None:
        raise AssertionError("a whole answer is kept anyway")

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        self.seen.append((b"".join(request.body), answer.status, b"".join(answer.chunks)))


class Failing:
    def may_read(self, route: Route) -> bool:
        return True

    def reads(self, request: Passage) -> bool:
        return True

    def missed(self, request: Passage) -> None:
        raise AssertionError("a whole answer is kept anyway")

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        raise ValueError("a mistake of this observer")


class Caller:
    """Calls an application inline, and by ASGI."""

    def __init__(self, app: RuntimeApp, name: str = "shop") -> None:
        self._app = app
        self._scope: dict[str, Any] = {"path": f"/endpoints/{name}/invocations", "headers": []}
        self.told: list[Any] = []

    def renew(self) -> None:
        """Begin another request."""
        self._scope = {name: self._scope[name] for name in ("path", "headers")}

    def inline(self) -> bool:
        take = self._app.inline(self._scope)
        return take is not None and take(self._scope, b"1,2", self._tell)

    def _tell(self, status: int, headers: Any, body: bytes) -> None:
        self.told.append((status, body))

    async def by_asgi(self, gone: bool = False) -> None:
        messages: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"1,2"}

        async def send(message: Any) -> None:
            if gone:
                raise ConnectionError("the caller has gone")
            messages.append(message)

        await self._app(self._scope, receive, send)
        self.told.append((messages[0]["status"], b"".join(message["body"] for message in messages[1:])))


@asynccontextmanager
async def shop() -> AsyncIterator[FleetEndpoint]:
    with FakeHost() as host:
        yield FleetEndpoint("shop", "arn", {"v": PoolOnFakeHost(host).pool})


def router_of(live: FleetEndpoint, draw: Callable[[], float] = lambda: 0.0) -> Router:
    roster = FleetRoster()
    roster.serve(live)
    return Router(roster, draw, strict=False)


def app(live: FleetEndpoint, sender: RequestSender, observers: Observers, **more: Any) -> RuntimeApp:
    return RuntimeApp(router_of(live), sender, observers, AccountAndRegion("1"), CLOCKS, **more)


@pytest.mark.parametrize("status", [200, 500])
def test_no_body_waits_with_a_request_to_be_accounted_for(status: int) -> None:
    async def story() -> None:
        ended = Ended()
        async with shop() as live:
            caller = Caller(app(live, Answering(status), ended))
            assert caller.inline()
            await caller.by_asgi()
            with pytest.raises(ConnectionError):
                await caller.by_asgi(gone=True)
        assert [request.status for request in ended.requests] == [200 if status == 200 else 424] * 3
        for request in ended.requests:
            assert isinstance(request.outcome, Served)
            assert request.body == request.outcome.answer.chunks == []

    run(story())


def test_an_observer_gets_body_and_answer_inline_and_by_asgi_before_their_release() -> None:
    async def story() -> None:
        capture = Capture()
        ended = Ended(Failing(), capture)
        async with shop() as live:
            caller = Caller(app(live, Answering(200), ended))
            assert caller.inline()
            await caller.by_asgi()
        assert caller.told == [(200, b"muchmore")] * 2
        assert capture.seen == [(b"1,2", 200, b"muchmore")] * 2
        assert [request.body for request in ended.requests] == [answer.chunks for answer in ended.answers] == [[], []]

    run(story())


def test_a_copy_for_a_shadow_variant_ends_before_the_same_observers() -> None:
    async def story() -> None:
        capture = Capture()
        ended = Ended(capture)
        async with shop() as live, shop() as other:
            pool = other.pools["v"]
            pool.variant = replace(pool.variant, shadow=True)
            live.serve({**live.pools, "new": pool})
            sender = Answering(200)
            shadowing = Shadowing(
                router_of(live), sender, lambda: 0.0, lambda: 0.0, lambda endpoint, variant, at_s: None
            )
            caller = Caller(app(live, sender, ended, shadowing=shadowing))
            assert caller.inline()
            await caller.by_asgi()
            shadowing.settle()
        assert caller.told == [(200, b"muchmore")] * 2
        assert capture.seen == [(b"1,2", 200, b"muchmore")] * 4
        assert [request.route.pool is pool for request in ended.requests if request.route] == [False, False, True, True]

    run(story())


def test_the_body_of_a_request_that_no_observer_reads_is_released_once_it_is_sent() -> None:
    released: list[bool] = []

    class Releasing(Answering):
        async def send(self, passage: Passage, sent: Callable[[], None] | None = None) -> Served:
            released.append(sent is not None)
            return await super().send(passage, sent)

    async def story() -> None:
        for wanted in (False, True):
            capture = Capture(wanted)
            async with shop() as live:
                caller = Caller(app(live, Releasing(200), Ended(capture)))
                assert caller.inline()
                await caller.by_asgi()
            assert capture.asked == 2  # once for each request
            assert len(capture.seen) == (2 if wanted else 0)

    run(story())
    assert released == [True, False]


def test_the_observers_of_a_request_and_of_its_copy_are_known_before_it_is_sent() -> None:
    sent: list[tuple[str, bool]] = []

    class Noting(Answering):
        def send_inline(self, passage: Passage, then: Callable[[Served | RuntimeFault | None], None]) -> bool:
            self._note(passage)
            return super().send_inline(passage, then)

        async def send(self, passage: Passage, done: Callable[[], None] | None = None) -> Served:
            self._note(passage)
            return await super().send(passage, done)

        def _note(self, passage: Passage) -> None:
            sent.append((passage.route.variant if passage.route else "", passage.wants_version))

    async def story() -> None:
        async with shop() as live, shop() as other:
            pool = other.pools["v"]
            pool.variant = replace(pool.variant, name="new", shadow=True)
            live.serve({**live.pools, "new": pool})
            router, sender, ended = router_of(live), Noting(200), Ended(Capture())
            shadowing = Shadowing(router, sender, lambda: 0.0, lambda: 0.0, lambda endpoint, variant, at_s: None)
            caller = Caller(app(live, sender, ended, shadowing=shadowing))
            assert caller.inline()
            shadowing.settle()
            await caller.by_asgi()
            shadowing.settle()
        assert sent == [("v", True), ("new", True)] * 2

    run(story())


def test_a_request_that_its_first_step_refuses_reaches_no_instance() -> None:
    def nobody(passage: Passage) -> None:
        raise RuntimeFault(Situation.PARAMETER, detail="nobody may call")

    async def story() -> None:
        ended = Ended()
        async with shop() as live:
            caller = Caller(app(live, Answering(200), ended, trace=nobody))
            assert not caller.inline()
            await caller.by_asgi()
        assert caller.told[0][0] == 400
        assert b"nobody may call" in caller.told[0][1]
        assert [request.route for request in ended.requests] == [None]

    run(story())


@pytest.mark.parametrize(
    ("outcome", "status"),
    [(200, 200), (RuntimeFault(Situation.NO_CAPACITY, variant="v"), 400), (ValueError("a mistake of ours"), 500)],
)
def test_a_request_that_no_instance_read_is_sent_again_and_answered_once(outcome: int | Exception, status: int) -> None:
    async def story() -> None:
        ended = Ended()
        async with shop() as live:
            caller = Caller(app(live, Gone(outcome), ended))
            assert caller.inline()
            assert caller.told == []
            await asyncio.sleep(0.1)
        assert [told for told, _ in caller.told] == [request.status for request in ended.requests] == [status]

    run(story())


def test_a_request_beyond_the_routers_share_is_refused_and_counts_once() -> None:
    async def story() -> None:
        async with shop() as live:
            pool = live.pools["v"]
            pool.variant = replace(pool.variant, serverless=Serverless(1024, 5))
            pool.share = 0
            caller = Caller(app(live, Answering(200), Ended()))
            assert not caller.inline()
            await caller.by_asgi()
            assert [status for status, _ in caller.told] == [400]
            assert pool.refused == 1

    run(story())


class NeverInline(RequestSender):
    """A sender whose instances take no request inline, and answer every other one."""

    def send_inline(self, passage: Passage, then: Callable[[Served | RuntimeFault | None], None]) -> bool:
        return False

    async def send(self, passage: Passage, sent: Callable[[], None] | None = None) -> Served:
        return Served(UpstreamAnswer(200, [], [b"1"]), "i-1", 1, 1, 0.25)


def test_a_request_that_cannot_go_inline_keeps_the_variant_that_was_drawn_for_it() -> None:
    async def story() -> None:
        ended, draws = Ended(), iter([0.2, 0.9, 0.2, 0.9])
        with FakeHost() as host:
            pools = {name: PoolOnFakeHost(host).pool for name in ("a", "b")}
            router = router_of(FleetEndpoint("shop", "arn", pools), lambda: next(draws))
            sender = NeverInline(lambda: 0.0, strict=False)
            caller = Caller(RuntimeApp(router, sender, ended, AccountAndRegion("1"), CLOCKS))
            for _ in range(4):
                caller.renew()
                assert not caller.inline()
                await caller.by_asgi()
        assert [request.route.variant for request in ended.requests if request.route] == ["a", "b", "a", "b"]

    run(story())


def answered(route: Route, took_s: float, requests: int, cold: dict[str, Any] | None, instances: int = 2) -> None:
    """A call by this route ends: well, after a load if there is a report of one."""
    headers = [(b"server-timing", b"load;dur=1.000")] if cold is not None else []
    headers += [(COLD, json.dumps(cold).encode())] if cold else []
    served = Served(UpstreamAnswer(200, headers, [b"1"]), "i-1", instances, 1, took_s, requests)
    PassageEnd(Ended(), lambda: 0.0).answer(passage("shop", route=route), served)


@pytest.mark.parametrize("named", [{"target": "a"}, {"target": None, "adapter": "a"}])
def test_waits_are_learned_from_calls_that_led_a_load_or_waited_for_none(named: dict[str, Any]) -> None:
    async def story() -> None:
        async with shop() as live:
            pool = live.pools["v"]
            route, waits = Route(live, "v", pool, **named), pool.waits
            answered(route, 8.0, 1, {"took_s": 7.9})
            answered(route, 0.1, 9, {"took_s": 7.9, "joined": True})
            answered(route, 0.2, 9, {})  # of a release that reports no load
            assert (waits.loads_s, waits.paces_s) == ({"a": 8.0}, {})
            for place in range(2, 21):
                answered(route, 0.1 * place, place, None)
                assert waits.paces_s["a"] == pytest.approx(0.1)
            answered(route, 9.0, 3, None, instances=1)
            answered(Route(live, "v", pool, None), 9.0, 3, None)
            assert list(waits.paces_s) == ["a"]
            assert waits.paces_s["a"] == pytest.approx(0.1)

    run(story())
