"""The runtime API's HTTP face: plain ASGI, bytes through, nothing parsed twice."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from torpor_container import wire
from torpor_container.wire import Step
from torpor_endpoint.aws.asgi import Disconnected, Receive, Scope, Send
from torpor_endpoint.aws.scope import DEFAULT_REGION
from torpor_endpoint.runtime.errors import FAULTS, Place, RuntimeFault, Situation, from_answer, wire_form
from torpor_endpoint.runtime.meter import Meters, Sample
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


class RuntimeApp:
    """`POST /endpoints/{EndpointName}/invocations`. Its siblings are refused at once, by name."""

    def __init__(self, router: Router, meters: Meters, account: Account, clock: Callable[[], float]) -> None:
        self._router = router
        self._meters = meters
        self._account = account
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began_s = self._clock()
        _, _, name, operation = scope["path"].split("/", 3)
        place = Place(name, self._account.number, self._account.region, str(uuid.uuid4()))
        steps: dict[str, float] = {}
        try:
            status, headers, body = await self._answered(scope, receive, operation, place, steps, began_s)
        except RuntimeFault as fault:
            status, headers, body = wire_form(fault, place)
        except Disconnected:
            return
        except Exception:  # the outer edge: one request's fault is logged and answered, and is no other's
            log.exception("request %s to endpoint %s failed", place.request_id, name)
            status, headers, body = wire_form(RuntimeFault(Situation.INTERNAL), place)
        headers += [
            (b"x-amzn-requestid", place.request_id.encode()),
            (b"server-timing", _server_timing(steps, self._clock() - began_s)),
            (b"content-length", b"%d" % len(body)),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answered(
        self, scope: Scope, receive: Receive, operation: str, place: Place, steps: dict[str, float], began_s: float
    ) -> tuple[int, Headers, bytes]:
        request = Invoke.read(scope, place.endpoint)
        limits = self._router.limits
        body, size_bytes = await read_body(receive, limits.body_bytes)
        if operation != "invocations":
            raise RuntimeFault(Situation.NOT_IMPLEMENTED, detail=f"/endpoints/{{EndpointName}}/{operation} yet")
        live = self._router.find(place.endpoint)
        if size_bytes > limits.body_bytes:
            raise RuntimeFault(Situation.OVERSIZE, limit=limits.body_bytes)
        while True:
            route = self._router.route(live, request)
            if route.crew.variant.serverless is not None and size_bytes > limits.serverless_body_bytes:
                raise RuntimeFault(Situation.OVERSIZE_SERVERLESS)
            try:
                return await self._served(route, request, body, place, steps, began_s)
            except CrewClosed:
                live = self._router.find(place.endpoint)

    async def _served(
        self, route: Route, request: Invoke, body: bytes, place: Place, steps: dict[str, float], began_s: float
    ) -> tuple[int, Headers, bytes]:
        try:
            served = await self._router.send(route, request, body, place)
        except RuntimeFault as fault:
            steps |= fault.steps
            self._count_failure(route, fault, began_s)
            raise
        self._account_for(route, served, steps, began_s)
        answer = served.answer
        if not 200 <= answer.status < 300:
            raise from_answer(answer, place)
        headers = [header for header in answer.headers if header[0] in COPIED]
        headers.append((b"x-amzn-invoked-production-variant", route.variant.encode()))
        return answer.status, headers, answer.body

    # -- accounting ------------------------------------------------------------------------------------------------
    def _account_for(self, route: Route, served: Served, steps: dict[str, float], began_s: float) -> None:
        """Read the instance's own steps, and add the request to the metrics."""
        steps |= served.waited
        steps |= _parsed(served.answer.header(b"server-timing") or b"")
        loading_s = sum(steps.get(step, 0.0) for step in LOADING)
        model_s = served.sent_s - loading_s
        hit = served.answer.header(MODEL_CACHE)
        if served.answer.header(FAULT) in REFUSED:
            return  # the platform's own answer: the request never reached a model
        total_s = self._clock() - began_s
        sample = Sample(
            served.instances,
            served.answer.status,
            model_s,
            total_s - model_s,
            None if hit is None else hit == b"hit",
            loading_s,
        )
        self._meters.add(route.live.name, route.variant, sample)

    def _count_failure(self, route: Route, fault: RuntimeFault, began_s: float) -> None:
        """A request that broke on its way counts against the model; one that was refused does not."""
        if fault.situation is Situation.NO_CAPACITY:
            self._meters.no_capacity(route.live.name, route.variant)
        if fault.original is not None:
            took_s = self._clock() - began_s
            self._meters.add(route.live.name, route.variant, Sample(len(route.crew.ready), None, took_s, 0.0, None))


def _parsed(server_timing: bytes) -> dict[str, float]:
    """Seconds by step, the instance's own overhead left out: ours is measured around it."""
    steps = (part.partition(";dur=") for part in server_timing.decode("latin-1").split(", ") if part)
    return {name: float(took_ms) / 1000 for name, _, took_ms in steps if name != Step.OVERHEAD.value and took_ms}


def _server_timing(steps: dict[str, float], total_s: float) -> bytes:
    shown = {**steps, Step.OVERHEAD.value: max(0.0, total_s - sum(steps.values()))}
    return ", ".join([f"{step};dur={took_s * 1000:.3f}" for step, took_s in shown.items()]).encode()
