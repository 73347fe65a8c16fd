"""The runtime API's HTTP face: plain ASGI, bytes through, nothing parsed twice."""

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass

from torpor_container import wire
from torpor_container.upstream import Body, size_of
from torpor_container.wire import Step
from torpor_endpoint.aws.asgi import Disconnected, Receive, Scope, Send
from torpor_endpoint.aws.scope import DEFAULT_REGION
from torpor_endpoint.ledger.records import Invocation
from torpor_endpoint.runtime.errors import FAULTS, Place, RuntimeFault, Situation, from_answer, wire_form
from torpor_endpoint.runtime.journey import Journey, server_timing, steps_of
from torpor_endpoint.runtime.meter import Concurrency, Meters, Sample
from torpor_endpoint.runtime.request import Invoke, read_body
from torpor_endpoint.runtime.router import CrewClosed, Route, Router, Served

log = logging.getLogger(__name__)

LOADING = (Step.QUEUE.value, Step.DOWNLOAD.value, Step.UNPACK.value, Step.LOAD.value)
COPIED = (b"content-type", wire.CUSTOM_ATTRIBUTES.lower().encode())
MODEL_CACHE = wire.MODEL_CACHE.lower().encode()
FAULT = wire.FAULT.lower().encode()
REFUSED = {fault.value.encode() for fault in FAULTS}

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Account:
    number: str
    region: str = DEFAULT_REGION


@dataclass(frozen=True)
class Clocks:
    """`epoch` gives seconds since 1970, `steady` seconds that only go forward."""

    epoch: Callable[[], float]
    steady: Callable[[], float]


class RuntimeApp:
    """`POST /endpoints/{EndpointName}/invocations`. Its siblings are refused at once, by name.

    `keep` is told of every invocation that was sent to a variant, once it is answered.
    """

    def __init__(
        self, router: Router, meters: Meters, account: Account, clocks: Clocks, keep: Callable[[Invocation], None]
    ) -> None:
        self._router = router
        self._meters = meters
        self._account = account
        self._clocks = clocks
        self._keep = keep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, _, name, operation = scope["path"].split("/", 3)
        place = Place(name, self._account.number, self._account.region, request_id())
        journey = Journey(place.request_id, self._clocks.epoch(), self._clocks.steady())
        try:
            status, headers, chunks = await self._answered(scope, receive, operation, place, journey)
        except RuntimeFault as fault:
            status, headers, *chunks = wire_form(fault, place)
        except Disconnected:
            return
        except Exception:  # the outer edge: one request's fault is logged and answered, and is no other's
            log.exception("request %s to endpoint %s failed", place.request_id, name)
            status, headers, *chunks = wire_form(RuntimeFault(Situation.INTERNAL), place)
        size_bytes = size_of(chunks)
        total_s = self._clocks.steady() - journey.began_s
        steps = journey.whole(total_s)
        headers += [
            (b"x-amzn-requestid", place.request_id.encode()),
            (b"server-timing", server_timing(steps)),
            (b"content-length", b"%d" % size_bytes),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await _send_all(chunks, send)
        invocation = journey.ended(status, size_bytes, total_s, steps)
        if invocation is not None:
            self._keep(invocation)

    async def _answered(
        self, scope: Scope, receive: Receive, operation: str, place: Place, journey: Journey
    ) -> tuple[int, Headers, Body]:
        request = Invoke.read(scope, place.endpoint)
        limits = self._router.limits
        body, journey.request_bytes = await read_body(receive, limits.body_bytes)
        if operation != "invocations":
            raise RuntimeFault(Situation.NOT_IMPLEMENTED, detail=f"/endpoints/{{EndpointName}}/{operation} yet")
        live = self._router.find(place.endpoint)
        if journey.request_bytes > limits.body_bytes:
            raise RuntimeFault(Situation.OVERSIZE, limit=limits.body_bytes)
        while True:
            route = self._router.route(live, request)
            if route.crew.variant.serverless is not None and journey.request_bytes > limits.serverless_body_bytes:
                raise RuntimeFault(Situation.OVERSIZE_SERVERLESS)
            try:
                return await self._served(route, request, body, place, journey)
            except CrewClosed:
                live = self._router.find(place.endpoint)

    async def _served(
        self, route: Route, request: Invoke, body: Body, place: Place, journey: Journey
    ) -> tuple[int, Headers, Body]:
        try:
            served = await self._router.send(route, request, body, place)
        except RuntimeFault as fault:
            journey.steps |= fault.steps
            self._count_failure(route, fault, journey)
            raise
        journey.route, journey.served = route, served
        self._account_for(route, served, journey)
        answer = served.answer
        if not 200 <= answer.status < 300:
            raise from_answer(answer, place)
        headers = [header for header in answer.headers if header[0] in COPIED]
        headers.append((b"x-amzn-invoked-production-variant", route.variant.encode()))
        return answer.status, headers, answer.chunks

    # -- accounting ------------------------------------------------------------------------------------------------
    def _account_for(self, route: Route, served: Served, journey: Journey) -> None:
        """Read the instance's own steps, and add the request to the metrics."""
        journey.steps |= served.waited
        journey.steps |= steps_of(served.answer.header(b"server-timing") or b"")
        loading_s = sum(journey.steps.get(step, 0.0) for step in LOADING)
        model_s = served.sent_s - loading_s
        hit = served.answer.header(MODEL_CACHE)
        if served.answer.header(FAULT) in REFUSED:
            return  # the platform's own answer: the request never reached a model
        total_s = self._clocks.steady() - journey.began_s
        sample = Sample(
            served.instances,
            served.answer.status,
            model_s,
            total_s - model_s,
            None if hit is None else hit == b"hit",
            loading_s,
            _concurrency(route, served),
        )
        self._meters.add(route.live.name, route.variant, sample)

    def _count_failure(self, route: Route, fault: RuntimeFault, journey: Journey) -> None:
        """A request that broke on its way counts against the model; one that was refused does not."""
        if fault.situation is Situation.NO_CAPACITY:
            self._meters.no_capacity(route.live.name, route.variant)
        if fault.original is not None:
            took_s = self._clocks.steady() - journey.began_s
            self._meters.add(route.live.name, route.variant, Sample(len(route.crew.ready), None, took_s, 0.0, None))
        if fault.original is not None or fault.steps:
            journey.route = route


async def _send_all(chunks: Body, send: Send) -> None:
    """One chunk after another, as fast as the caller takes them, and each is let go of."""
    chunks.reverse()
    while len(chunks) > 1:
        await send({"type": "http.response.body", "body": chunks.pop(), "more_body": True})
    await send({"type": "http.response.body", "body": chunks.pop() if chunks else b""})


def request_id() -> str:
    """A UUID, version 4. It names a request and keeps no secret: Python's own dice will do, and ask no system."""
    digits = f"{random.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def _concurrency(route: Route, served: Served) -> Concurrency | None:
    allowed = route.crew.variant.serverless
    if allowed is None:
        return None
    return Concurrency(served.in_flight, allowed.max_concurrency, allowed.provisioned_concurrency)
