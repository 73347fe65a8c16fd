"""Whoever sends a request, its containers see the same: the same headers, the same retries, and the same books.

The containers of two instances answer, refuse, break and hang as a script says. Each driver of the machine sends one
request through them: the inline call, the coroutine, the stream, the asynchronous attempt, the job and the shadow copy.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.helpers.passages import passage
from tests.helpers.example_counts import tries
from torpor_container import wire
from torpor_container.transport.frames import headers_of
from torpor_container.transport.multiplexed import Multiplexed
from torpor_container.transport.parts import IN_PARTS
from torpor_container.transport.stream_client import StreamConnection
from torpor_container.transport.upstream import Headers, Then, Upstream
from torpor_container.transport.upstream_answers import (
    Body,
    UpstreamAnswer,
    UpstreamBroken,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimedOut,
)
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.core.sending.machine import (
    ACCEPT,
    CONTENT_TYPE,
    CUSTOM_ATTRIBUTES,
    FAULT,
    ONLY_LOADED,
    SESSION_ID,
    STRICT_HOP_BYTES,
    Sending,
    SendingFailure,
)
from torpor_endpoint.core.sending.session_holders import CLOSED_SESSION, NEW_SESSION
from torpor_endpoint.core.sending.trail import COLD, SERVER_TIMING, Trail
from torpor_endpoint.core.sessions import SessionKey
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.host import Launched, Phase, Slot
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.holding import NobodyReady
from torpor_endpoint.runtime.passage import Passage, Route, Served
from torpor_endpoint.runtime.sending import RequestSender
from torpor_endpoint.runtime.shadowing import CopyEnds, Shadowing
from torpor_endpoint.services.transform.running.instances import JobInstances, JobPayload, Patience, PayloadFailed

TARGET = "a.tar.gz"
FIRST = 1
"""The slot of the two that the target goes to first."""
BODY = b"1,2"
LARGE = bytes(STRICT_HOP_BYTES + 1)
CALLER = {CONTENT_TYPE: b"text/csv", ACCEPT: b"text/plain", CUSTOM_ATTRIBUTES: b"mine", SESSION_ID: b"s-1"}
SERVED = Served(UpstreamAnswer(200), "i-0", 1, 1, 0.0)

FAULTS: Mapping[str, UpstreamError] = {
    "refused": UpstreamRefused("refused"),
    "broken": UpstreamBroken("broken"),
    "timed out": UpstreamTimedOut("timed out"),
}
TOLD: Sequence[tuple[bytes, bytes]] = (
    (CONTENT_TYPE, b"application/json"),
    (CUSTOM_ATTRIBUTES, b"theirs"),
    (SERVER_TIMING, b"load;dur=3.000, predict;dur=1.500"),
    (COLD, b'{"victims": ["b.tar.gz"]}'),
    (COLD, b'{"victims": []}'),
    (NEW_SESSION, b"s-1;expires=1"),
    (CLOSED_SESSION, b"s-1"),
)


class Answer(NamedTuple):
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b"answer"


ABSENT = Answer(404, ((FAULT, b"absent"),), b'{"message": "it is gone"}')
Outcome = Answer | str
ANSWERS = st.builds(
    Answer,
    st.sampled_from((200, 200, 200, 204, 400, 429, 500, 507)),
    st.lists(st.sampled_from(TOLD), max_size=3, unique_by=lambda header: header[0]).map(tuple),
    st.sampled_from((b"answer", b"answer", LARGE)),
)
OUTCOMES = st.one_of(ANSWERS, st.just(ABSENT), st.sampled_from(sorted(FAULTS)))
SCRIPTS = st.lists(st.lists(OUTCOMES, max_size=3), min_size=1, max_size=3)
"""By container, what becomes of the requests that come to it, one after another. Further ones are answered well."""


class Came(NamedTuple):
    """A request as it came to a container."""

    instance: int
    container: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    timeout_s: float


@dataclass
class Script:
    """The outcomes that are left, and what came so far."""

    left: list[list[Outcome]]
    frames: frozenset[int] = frozenset({0, 1})  # the instances that take frames
    came: list[Came] = field(default_factory=list)

    def next(
        self, instance: int, container: int, headers: Headers, body: Body, timeout_s: float
    ) -> UpstreamAnswer | UpstreamError:
        told = sorted(header for header in headers if header != IN_PARTS)
        self.came.append(Came(instance, container, tuple(told), b"".join(body), timeout_s))
        outcome = self.left[container].pop(0) if self.left[container] else Answer()
        if outcome == ABSENT and ONLY_LOADED not in headers:
            outcome = Answer()  # who may load a model is not told that it is absent
        if isinstance(outcome, str):
            return FAULTS[outcome]
        return UpstreamAnswer(outcome.status, list(outcome.headers), [outcome.body])


class ScriptedContainer(LiveContainer):
    """A container on all three ways to it: HTTP, frames and streams."""

    def __init__(self, definition: Container, script: Script, instance: int, container: int) -> None:
        ended: asyncio.Future[Launched] = asyncio.get_running_loop().create_future()
        launched = Launched(Slot("e", "v", instance, container), f"i-{instance}", "", Phase.RUNNING)
        super().__init__(definition, launched, cast(Upstream, self), cast(Multiplexed, self.frames()), ended)
        self._script, self._instance, self._container = script, instance, container

    def _next(self, headers: Headers, body: Body, timeout_s: float) -> UpstreamAnswer | UpstreamError:
        return self._script.next(self._instance, self._container, headers, body, timeout_s)

    async def send(  # as `Upstream` has it
        self,
        method: str,
        path: str,
        headers: Headers,
        body: Body,
        timeout_s: float,
        *,
        sent: Callable[[], None] | None = None,
        answer_max_bytes: int = 0,
    ) -> UpstreamAnswer:
        if path != wire.INVOCATIONS:
            await asyncio.Event().wait()  # whoever takes a model over is still loading it
        return whole(self._next(headers, body, timeout_s))

    def frames(self) -> object:
        container = self

        class Frames:
            def send(self, head: bytes, body: bytes, timeout_s: float, then: Then) -> bool:
                if container._instance not in container._script.frames:
                    return False
                outcome = container._next(list(headers_of(head)), [body], timeout_s)
                asyncio.get_running_loop().call_soon(then, outcome)
                return True

        return Frames()

    @asynccontextmanager
    async def streamed(
        self, headers: Headers, body: Body, timeout_s: float, sent: Callable[[], None] | None
    ) -> AsyncIterator[StreamConnection]:
        connection = StreamConnection()
        connection.answer = whole(self._next(headers, body, timeout_s))
        yield connection


def whole(outcome: UpstreamAnswer | UpstreamError) -> UpstreamAnswer:
    if isinstance(outcome, UpstreamError):
        raise outcome
    return outcome


class ScriptedPool(VariantPool):
    """Two instances. Those that were suspected answer their pings as soon as a request waits."""

    size = 2

    def __init__(self, script: Script, names: Sequence[str], moving: bool = False, models_at: int = 0) -> None:
        """`moving`: the target was called while the instance that it goes to first was not there. `models_at` is the
        place of the container with many models."""
        at = models_at % len(names)
        containers = tuple(Container("torpor", name=name, multi_model=name == names[at]) for name in names)
        super().__init__("shop", Variant("v", "m", containers))
        self.answer_within_s = [7.0] * len(names)
        self.suspects: list[int] = []
        self.all = [
            Incarnation(
                Slot("shop", "v", at),
                f"i-{at}",
                [ScriptedContainer(one, script, at, place) for place, one in enumerate(containers)],
            )
            for at in range(self.size)
        ]
        if moving:
            [former] = [one for one in self.all if one.slot.number != FIRST]
            self.ready.offer(former.slot.number, former)
            self.ready.pick(TARGET)
        self.wake()

    def wake(self) -> None:
        for one in self.all:
            if not self.offered(one):
                self.ready.offer(one.slot.number, one)

    async def until(self, true: Callable[[], bool]) -> None:
        self.wake()
        await super().until(true)

    def suspect(self, incarnation: Incarnation) -> None:
        self.suspects.append(incarnation.slot.number)
        super().suspect(incarnation)


class Books(NamedTuple):
    """What is known once the request has ended."""

    ended: object
    suspects: list[int]
    lacked: list[list[bool]]
    session: object
    in_flight: list[int]
    seconds: list[str] | None
    steps: list[dict[str, float]] | None


@dataclass
class Trace:
    """The request's place in a trace."""

    def headers(self, step: int) -> list[tuple[bytes, bytes]]:
        return [(b"traceparent", b"%d" % step)]

    def copy(self) -> "Trace":
        return self


@dataclass
class Scene:
    """The containers of a script, for one driver."""

    script: Script
    pool: ScriptedPool
    strict: bool

    @classmethod
    def of(
        cls,
        script: list[list[Outcome]],
        strict: bool,
        frames: frozenset[int] = frozenset(),
        moving: bool = False,
        models_at: int = 0,
    ) -> "Scene":
        one = Script([list(outcomes) for outcomes in script], frames)
        names = [f"container-{at + 1}" for at in range(len(script))]
        return cls(one, ScriptedPool(one, names, moving, models_at), strict)

    @property
    def sender(self) -> RequestSender:
        return RequestSender(lambda: 0.0, self.strict)

    def request(self) -> Passage:
        live = FleetEndpoint("shop", "arn", {"v": cast(InstancePool, self.pool)})
        path = tuple(range(len(self.pool.variant.containers)))
        one = passage("shop", *CALLER.items(), route=Route(live, "v", self.pool, TARGET, path))
        one.body, one.request_bytes, one.trace = [BODY], len(BODY), Trace()
        one.limits = replace(one.limits, attempt_margin_s=0.0)
        return one

    def books(self, ended: object, trail: Trail | None) -> Books:
        return Books(
            ended,
            self.pool.suspects,
            [[container.lacked_room for container in one.containers] for one in self.pool.all],
            self.pool.sessions.holder(SessionKey(TARGET, b"s-1")),
            [one.in_flight for one in self.pool.all] + [one.streams for one in self.pool.all],
            None if trail is None else list(trail.seconds),
            None if trail is None else trail.steps,
        )

    def of_request(self, request: Passage, outcome: Served | RuntimeFault) -> Books:
        traffic = self.pool.traffic
        assert (traffic.in_flight, traffic.held, traffic.held_bytes, request.sending) == (0, 0, 0, None)
        if isinstance(outcome, Served):
            return self.books(outcome.answer.status, request.trail)
        if outcome.situation is Situation.HOP_OVERSIZE:
            return self.books(SendingFailure.HOP_OVERSIZE, request.trail)
        assert outcome.original is not None
        return self.books(SendingFailure.TIMED_OUT if outcome.timed_out else SendingFailure.BROKEN, request.trail)


Driver = Callable[[Scene], Awaitable[Books | None]]
"""None: the driver waits for no instance, and there was none."""


async def coroutine(scene: Scene, request: Passage | None = None) -> Books:
    request = request or scene.request()
    try:
        return scene.of_request(request, await scene.sender.send(request))
    except RuntimeFault as fault:
        return scene.of_request(request, fault)


async def inline(scene: Scene) -> Books:
    request, told = scene.request(), asyncio.get_running_loop().create_future()
    outcome: Served | RuntimeFault | None = None
    if scene.sender.send_inline(request, told.set_result):
        outcome = await told
    return await coroutine(scene, request) if outcome is None else scene.of_request(request, outcome)


async def stream(scene: Scene, *, waits: bool = True) -> Books | None:
    request = scene.request()
    try:
        async with scene.sender.stream(request, waits=waits) as (_, served):
            pass
    except RuntimeFault as fault:
        return scene.of_request(request, fault)
    except NobodyReady:
        return None
    return scene.of_request(request, served)


async def attempt(scene: Scene) -> Books | None:
    return await stream(scene, waits=False)


async def copy(scene: Scene) -> Books:
    told = asyncio.get_running_loop().create_future()
    request = scene.request()
    route, request.outcome = request.route, SERVED
    assert route is not None
    other = ScriptedPool(Script([[]]), ["primary"])
    scene.pool.variant = replace(scene.pool.variant, shadow=True)
    live = FleetEndpoint("shop", "arn", cast(Any, {"p": other, "v": scene.pool}))
    route = route._replace(live=live, variant="p", pool=other)
    router = Router(FleetRoster(), lambda: 0.0, scene.strict)
    shadowing = Shadowing(router, scene.sender, lambda: 0.0, lambda: 0.0, lambda *dropped: None)
    shadowing.copy(request, route, CopyEnds(lambda _: None, lambda copy, outcome: told.set_result((copy, outcome))))
    shadowing.settle()
    return scene.of_request(*await told)


async def job(scene: Scene) -> Books:
    class Traced:
        """Keeps the machine, whose books the job does not show."""

        trace = Trace()

        def ended(self, sending: Sending[Incarnation]) -> None:
            self.sending = sending

    traced = Traced()

    class Traces:
        def begun(self, model: str | None, size_bytes: int) -> Traced:
            return traced

    pool = cast(InstancePool, scene.pool)
    instances = JobInstances(pool, lambda: 0.0, scene.strict, Traces())
    payload = JobPayload("a.csv", CALLER, BODY, TARGET)
    failed = False
    try:
        await instances.answer(payload, Patience(7.0, retries=0))
    except PayloadFailed:
        failed = True
    sending = traced.sending
    ended = sending.failure or cast(UpstreamAnswer, sending.answer).status
    assert failed is (not isinstance(ended, int) or not 200 <= ended < 300)
    return scene.books(ended, sending.trail)


@given(SCRIPTS, st.booleans(), st.frozensets(st.integers(0, 1)), st.booleans(), st.integers(0, 2))
@settings(max_examples=tries(24))
def test_each_driver_gives_the_same_headers_the_same_retries_and_the_same_books(
    script: list[list[Outcome]], strict: bool, frames: frozenset[int], moving: bool, models_at: int
) -> None:
    async def story() -> None:
        seen: dict[str, tuple[list[Came], Books | None]] = {}
        scenes = []  # their tasks wait until the story ends
        for driver in (coroutine, inline, stream, attempt, job, copy):
            scenes.append(scene := Scene.of(script, strict, frames, moving, models_at))
            books = await cast(Driver, driver)(scene)
            seen[driver.__name__] = scene.script.came, books
        came, books = seen["coroutine"]
        for name, (theirs, own) in seen.items():
            if own is None:
                assert (name, theirs) == (name, came[: len(theirs)])
            else:
                assert (name, theirs, own) == (name, came, books)
        assert books is not None
        assert books.in_flight == [0, 0, 0, 0]

    asyncio.run(story())


def test_a_former_owner_is_asked_for_a_model_that_it_has_and_else_the_newcomer_gets_the_request() -> None:
    async def story() -> None:
        for driver in (coroutine, inline, stream, job):
            scene = Scene.of([[ABSENT]], strict=False, moving=True)
            books = await cast(Driver, driver)(scene)
            former, newcomer = scene.script.came
            assert (former.instance, newcomer.instance) == (1 - FIRST, FIRST)
            assert (ONLY_LOADED in former.headers, ONLY_LOADED in newcomer.headers) == (True, False)
            assert (newcomer.body, newcomer.timeout_s) == (former.body, former.timeout_s) == (BODY, 7.0)
            assert sorted({*newcomer.headers, ONLY_LOADED}) == sorted(former.headers)
            assert books is not None
            assert (books.ended, books.in_flight) == (200, [0, 0, 0, 0])
            assert not scene.pool.ready.moving
            await coroutine(scene)
            assert scene.script.came[-1].instance == FIRST

    asyncio.run(story())


def test_a_former_owner_answers_until_it_is_suspected() -> None:
    async def story() -> None:
        scene = Scene.of([[Answer(), "refused"]], strict=False, moving=True)
        for _ in range(2):
            assert (await coroutine(scene)).ended == 200
        assert [one.instance for one in scene.script.came] == [1 - FIRST, 1 - FIRST, FIRST]
        assert [ONLY_LOADED in one.headers for one in scene.script.came] == [True, True, False]

    asyncio.run(story())


def test_the_scripts_reach_retries_headers_and_suspects() -> None:
    """Else the property above would hold of drivers that do nothing."""

    async def story() -> None:
        scene = Scene.of([["refused"], []], strict=False)
        books = await coroutine(scene)
        first, *others = [one.instance for one in scene.script.came]
        assert (others, books.suspects) == ([1 - first, 1 - first], [first])
        assert [dict(one.headers).get(ACCEPT) for one in scene.script.came] == [None, None, b"text/plain"]

    asyncio.run(story())


def test_in_a_pipeline_the_newcomer_gets_the_leg_and_the_containers_before_it_are_called_once() -> None:
    async def story() -> None:
        for driver in (coroutine, inline, stream, job):
            scene = Scene.of([[], [ABSENT], []], strict=False, moving=True, models_at=1)
            books = await cast(Driver, driver)(scene)
            assert [(one.instance, one.container) for one in scene.script.came] == [
                (1 - FIRST, 0),
                (1 - FIRST, 1),
                (FIRST, 1),
                (FIRST, 2),
            ]
            assert [one.body for one in scene.script.came] == [BODY, b"answer", b"answer", b"answer"]
            assert books is not None
            assert (books.ended, books.in_flight) == (200, [0, 0, 0, 0])

    asyncio.run(story())
