"""Counts each request in the metrics of its variant: invocations, errors, latencies, cache hits."""

from collections.abc import Sequence
from typing import Protocol

from torpor_container import wire
from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger import COLD_STEPS, is_cold, minute_of
from torpor_endpoint.core.resource_records import Serverless
from torpor_endpoint.core.sending.trail import Trail
from torpor_endpoint.runtime.errors import FAULTS, RuntimeFault, Situation
from torpor_endpoint.runtime.face_notes import face_of
from torpor_endpoint.runtime.observing.answer_heads import HIT, MODEL_CACHE
from torpor_endpoint.runtime.observing.meter import AlikeRequests, Concurrency
from torpor_endpoint.runtime.observing.observers import OK, Alike
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Route, Served, StreamFacts

LOADING = frozenset({WaitStep.QUEUE.value, WaitStep.DOWNLOAD.value, WaitStep.UNPACK.value, WaitStep.LOAD.value})
FAULT = wire.FAULT.lower().encode()
NO_CAPACITY = (Situation.NO_CAPACITY, Situation.COMPONENT_NO_CAPACITY)
REFUSED = {fault.value.encode() for fault in FAULTS}
"""The faults of an instance that are the platform's own answer: such a request never reached a model."""


class RequestMeter(Protocol):
    """The meter of one variant, as far as an ended request is counted in it (see `VariantMeter`)."""

    def add_cold_start(self, waited_s: float, at_s: float) -> None: ...

    def add_container(self, name: str, status: int, took_s: float, overhead_s: float | None, at_s: float) -> None: ...

    def add_stream(self, first_s: float, model_s: float, failed: bool, at_s: float) -> None: ...


class RequestMeters(Protocol):
    """The meters of all variants, as far as ended requests are counted in them (see `Meters`)."""

    def of(self, endpoint: str, variant: str) -> RequestMeter: ...

    def add(self, endpoint: str, variant: str, samples: AlikeRequests, at_s: float) -> None: ...

    def no_capacity(self, endpoint: str, variant: str, at_s: float) -> None: ...


class MetricsObserver:
    def __init__(self, meters: RequestMeters) -> None:
        self._meters = meters

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        """A request counts if it reached a model, or broke on its way to one."""
        route, outcome = request.route, request.outcome
        if route is None or outcome is None:
            return
        samples = _samples(request, route, outcome) if isinstance(outcome, Served) else _broken(request, route, outcome)
        if isinstance(outcome, RuntimeFault) and outcome.situation in NO_CAPACITY:
            self._meters.no_capacity(route.live.name, route.variant, request.ended_at_s)
        if samples is not None:
            self._meters.add(route.live.name, route.variant, samples, minute_of(request.ended_at_s))
        if samples is not None and is_cold(request.steps):
            waited_s = sum([took_s for step, took_s in request.steps.items() if step in COLD_STEPS])
            self._meters.of(route.live.name, route.variant).add_cold_start(waited_s, minute_of(request.ended_at_s))
        if request.trail is not None:
            self._add_containers(request, route, request.trail)
        if request.stream is not None:
            self._add_stream(request, route, request.stream)

    def _add_containers(self, request: Passage, route: Route, trail: Trail) -> None:
        """The last container that the request reached gave its answer, or gave none. Those before it did well."""
        meter, last = self._meters.of(route.live.name, route.variant), len(trail.seconds) - 1
        outcome = request.outcome
        status = outcome.answer.status if isinstance(outcome, Served) else 0
        for step, (name, took_s) in enumerate(trail.seconds.items()):
            overhead_s = request.total_s - took_s if len(route.path) == 1 else None
            seen = status if step == last else OK
            meter.add_container(name, seen, took_s, overhead_s, minute_of(request.ended_at_s))

    def _add_stream(self, request: Passage, route: Route, stream: StreamFacts) -> None:
        """The load of a model counts as overhead of the first part, as it does of the whole answer."""
        model_s = stream.first_model_s - _loading_s(request)
        meter = self._meters.of(route.live.name, route.variant)
        meter.add_stream(stream.first_s, model_s, stream.failed, minute_of(request.ended_at_s))

    def ended_alike(self, alike: Alike, requests: Sequence[Passage], served: Sequence[Served]) -> None:
        model_s = [one.sent_s for one in served]
        overhead_s = [request.total_s - sent_s for request, sent_s in zip(requests, model_s, strict=True)]
        allowed = alike.pool.variant.serverless
        concurrency = [_concurrency(allowed, one) for one in served] if allowed is not None else ()
        queued = alike.pool.variant.asynchronous is not None
        by = alike.pool.variant.deployed_by
        samples = AlikeRequests(
            alike.instances, OK, alike.hit, model_s, overhead_s, (), concurrency, queued, by, alike.face
        )
        self._meters.add(alike.endpoint, alike.variant, samples, alike.ended_minute_s)
        for request in requests:
            if request.trail is not None and request.route is not None:
                self._add_containers(request, request.route, request.trail)


def _samples(request: Passage, route: Route, served: Served) -> AlikeRequests | None:
    """Of one request; None if it never reached a model."""
    headers = dict(served.answer.headers)
    if headers.get(FAULT) in REFUSED:
        return None
    loading_s = _loading_s(request)
    model_s = served.sent_s - loading_s
    cache = headers.get(MODEL_CACHE)
    hit = None if cache is None else cache == HIT
    allowed = route.pool.variant.serverless
    concurrency = [_concurrency(allowed, served)] if allowed is not None else ()
    status, overhead_s = served.answer.status, request.total_s - model_s
    queued, by = route.pool.variant.asynchronous is not None, route.pool.variant.deployed_by
    times = [model_s], [overhead_s], [loading_s]
    return AlikeRequests(served.instances, status, hit, *times, concurrency, queued, by, face_of(request.scope))


def _loading_s(request: Passage) -> float:
    return sum([took_s for step, took_s in request.steps.items() if step in LOADING])


def _broken(request: Passage, route: Route, fault: RuntimeFault) -> AlikeRequests | None:
    """A request that broke on its way counts against the model; one that was refused does not."""
    if fault.original is None:
        return None
    queued, by = route.pool.variant.asynchronous is not None, route.pool.variant.deployed_by
    face, broken = face_of(request.scope), ([request.total_s], [0.0])
    return AlikeRequests(len(route.pool.ready), None, None, *broken, queued=queued, deployed_by=by, face=face)


def _concurrency(allowed: Serverless, served: Served) -> Concurrency:
    return Concurrency(served.in_flight, allowed.max_concurrency, allowed.provisioned_concurrency)
