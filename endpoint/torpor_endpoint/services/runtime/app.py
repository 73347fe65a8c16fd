"""The runtime API's HTTP face: plain ASGI, bytes through, nothing parsed twice."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torpor_container import wire
from torpor_container.transport.upstream import Body, size_of
from torpor_endpoint.aws.wire.asgi import Disconnected, Headers, Receive, Scope, Send, Tell
from torpor_endpoint.aws.wire.scope import DEFAULT_REGION, region_of
from torpor_endpoint.fleet.roster import LiveEndpoint
from torpor_endpoint.services.runtime.accounting import Accounting
from torpor_endpoint.services.runtime.errors import ErrorPlace, RuntimeFault, Situation, from_answer, wire_form
from torpor_endpoint.services.runtime.journey import Journey, server_timing, steps_of
from torpor_endpoint.services.runtime.request import Invoke, read_body
from torpor_endpoint.services.runtime.router import PoolClosed, Route, Router, Served

log = logging.getLogger(__name__)

PREFIX = "/endpoints/"
COPIED = frozenset(name.lower().encode() for name in wire.RETURNED)


@dataclass(frozen=True)
class AccountAndRegion:
    number: str
    region: str = DEFAULT_REGION
    console: bool = False  # see `Place`


@dataclass(frozen=True)
class Clocks:
    """`epoch` gives seconds since 1970, `steady` seconds that only go forward."""

    epoch: Callable[[], float]
    steady: Callable[[], float]


class TakenUp(NamedTuple):
    """An invocation that did not come by ASGI, until it is told its answer."""

    scope: Scope
    body: bytes
    place: ErrorPlace
    journey: Journey
    tell: Tell


class RuntimeApp:
    """`POST /endpoints/{EndpointName}/invocations`. Its siblings are refused at once, by name."""

    def __init__(self, router: Router, accounting: Accounting, account: AccountAndRegion, clocks: Clocks) -> None:
        self._router = router
        self._accounting = accounting
        self._account = account
        self._clocks = clocks
        self._late: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place, operation = self._place(scope)
        journey = self._begun(place)
        try:
            status, headers, chunks = await self._answered(scope, receive, operation, place, journey)
        except RuntimeFault as fault:
            status, headers, *chunks = _refused(scope, fault, place)
        except Disconnected:
            return
        except Exception:  # the outer edge: one request's fault is logged and answered, and is no other's
            log.exception("request %s to endpoint %s failed", place.request_id, place.endpoint)
            status, headers, *chunks = _refused(scope, RuntimeFault(Situation.INTERNAL), place)
        self._end(journey, status, headers, size_of(chunks))
        try:
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await _send_all(chunks, send)
        finally:
            chunks.clear()
            self._accounting.add(journey)

    def at_once(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """Take up an invocation that waits for nothing on its way to a ready instance (see `aws.asgi.AtOnce`).

        What is refused or has to wait is left to come by ASGI.
        """
        place, operation = self._place(scope)
        if operation != "invocations":
            return False
        journey = self._begun(place)
        journey.request_bytes = len(body)
        taken = TakenUp(scope, body, place, journey, tell)

        def ended(outcome: Served | RuntimeFault | None) -> None:
            if outcome is None:
                late = asyncio.create_task(self._again(taken, route, request))
                self._late.add(late)
                late.add_done_callback(self._late.discard)
            else:
                self._finish(taken, route, outcome)

        try:
            request = Invoke.read(scope, place.endpoint)
            route = self._route(self._router.find(place.endpoint), request, journey.request_bytes)
            sent = self._router.send_at_once(route, request, body, place, ended)
        except RuntimeFault:
            return False
        self._accounting.meanwhile()
        return sent

    async def _again(self, taken: TakenUp, route: Route, request: Invoke) -> None:
        """What turned out never to have been sent."""
        outcome: Served | RuntimeFault
        try:
            route, outcome = await self._sent(request, [taken.body], taken.place, len(taken.body))
        except RuntimeFault as fault:
            outcome = fault
        except Exception:  # the outer edge, as above
            log.exception("request %s to endpoint %s failed", taken.place.request_id, taken.place.endpoint)
            outcome = RuntimeFault(Situation.INTERNAL)
        self._finish(taken, route, outcome)

    def _finish(self, taken: TakenUp, route: Route, outcome: Served | RuntimeFault) -> None:
        scope, _, place, journey, tell = taken
        try:
            status, headers, chunks = _told(route, outcome, place, journey)
            answer = b"".join(chunks)
            chunks.clear()
        except RuntimeFault as fault:
            status, headers, answer = _refused(scope, fault, place)
        except Exception:  # the outer edge, as above
            log.exception("request %s to endpoint %s failed", place.request_id, place.endpoint)
            status, headers, answer = _refused(scope, RuntimeFault(Situation.INTERNAL), place)
        self._end(journey, status, headers, len(answer))
        tell(status, headers, answer)
        self._accounting.add(journey)

    def _place(self, scope: Scope) -> tuple[ErrorPlace, str]:
        """Where the request goes, and what it wants there. Who gives an ARN as the name has a slash in it."""
        name, _, operation = scope["path"].removeprefix(PREFIX).rpartition("/")
        account = self._account
        return ErrorPlace(name, account.number, account.region, request_id(), console=account.console), operation

    def _begun(self, place: ErrorPlace) -> Journey:
        return Journey(place.request_id, self._clocks.epoch(), self._clocks.steady())

    async def _answered(
        self, scope: Scope, receive: Receive, operation: str, place: ErrorPlace, journey: Journey
    ) -> tuple[int, Headers, Body]:
        request = Invoke.read(scope, place.endpoint)
        body, journey.request_bytes = await read_body(scope, receive, self._router.limits.body_bytes)
        if operation != "invocations":
            raise RuntimeFault(Situation.NOT_IMPLEMENTED, detail=f"/endpoints/{{EndpointName}}/{operation} yet")
        route, outcome = await self._sent(request, body, place, journey.request_bytes)
        return _told(route, outcome, place, journey)

    async def _sent(
        self, request: Invoke, body: Body, place: ErrorPlace, size_bytes: int
    ) -> tuple[Route, Served | RuntimeFault]:
        """Where it went, and what came of it. Raises the fault of a request that goes nowhere."""
        while True:
            route = self._route(self._router.find(place.endpoint), request, size_bytes)
            try:
                return route, await self._router.send(route, request, body, place)
            except RuntimeFault as fault:
                return route, fault
            except PoolClosed:
                continue

    def _route(self, live: LiveEndpoint, request: Invoke, request_bytes: int) -> Route:
        """Raises the fault of the first rule that the request breaks."""
        limits = self._router.limits
        if request_bytes > limits.body_bytes:
            raise RuntimeFault(Situation.OVERSIZE, limit=limits.body_bytes)
        route = self._router.route(live, request)
        if route.pool.variant.serverless is not None and request_bytes > limits.serverless_body_bytes:
            raise RuntimeFault(Situation.OVERSIZE_SERVERLESS)
        return route

    def _end(self, journey: Journey, status: int, headers: Headers, size_bytes: int) -> None:
        """The headers that every answer has are added."""
        journey.end(status, size_bytes, self._clocks.steady() - journey.began_s)
        headers += [
            (b"x-amzn-requestid", journey.request_id.encode()),
            (b"server-timing", server_timing(journey.steps)),
            (b"content-length", b"%d" % size_bytes),
        ]


def _told(
    route: Route, outcome: Served | RuntimeFault, place: ErrorPlace, journey: Journey
) -> tuple[int, Headers, Body]:
    """Status, headers and body for the caller. Raises RuntimeFault for what is no success."""
    journey.route, journey.outcome = route, outcome
    if isinstance(outcome, RuntimeFault):
        journey.steps |= outcome.steps
        raise outcome
    answer = outcome.answer
    journey.steps |= outcome.waited
    journey.steps |= steps_of(answer.header(b"server-timing") or b"")
    if not 200 <= answer.status < 300:
        fault = from_answer(answer, place)
        answer.chunks.clear()
        raise fault
    headers = [header for header in answer.headers if header[0] in COPIED]
    headers.append((b"x-amzn-invoked-production-variant", route.variant.encode()))
    return answer.status, headers, answer.chunks


def _refused(scope: Scope, fault: RuntimeFault, place: ErrorPlace) -> tuple[int, Headers, bytes]:
    """In the words of the region that the request was signed for, if it was."""
    told = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    region = region_of(told, scope.get("query_string", b"").decode("latin-1"), otherwise=place.region)
    return wire_form(fault, place._replace(region=region))


async def _send_all(chunks: Body, send: Send) -> None:
    """One chunk after another, as fast as the caller takes them, and each is let go of."""
    chunks.reverse()
    while len(chunks) > 1:
        await send({"type": "http.response.body", "body": chunks.pop(), "more_body": True})
    await send({"type": "http.response.body", "body": chunks.pop() if chunks else b""})


def request_id() -> str:
    """A UUID, version 4. It names a request and keeps no secret: Python's own dice will do, and ask no system."""
    digits = random.randbytes(16).hex()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
