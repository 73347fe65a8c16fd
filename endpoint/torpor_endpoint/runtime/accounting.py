"""What requests that have ended add to the metrics and the ledger: the two are told of many at once.

Told of each by itself, they cost a request more than twice as much: between two requests the processor's caches lose
what they do (benchmarks/README.md). So what is read of either is `settle`d first.
"""

import asyncio
import logging
from collections.abc import Callable

from torpor_container import wire
from torpor_container.wire import Step
from torpor_endpoint.core.ledger import minute_of
from torpor_endpoint.ledger.records import Invocation
from torpor_endpoint.runtime.errors import FAULTS, RuntimeFault, Situation
from torpor_endpoint.runtime.journey import Journey
from torpor_endpoint.runtime.meter import Concurrency, Meters, Sample
from torpor_endpoint.runtime.router import Route, Served

log = logging.getLogger(__name__)

TOGETHER = 32
"""So many are told together as soon as the endpoint itself waits for an instance: for about as long as the two take for
so many."""
WITHIN_S = 0.1
"""Nobody is told of later than that."""

LOADING = frozenset({Step.QUEUE.value, Step.DOWNLOAD.value, Step.UNPACK.value, Step.LOAD.value})
MODEL_CACHE = wire.MODEL_CACHE.lower().encode()
FAULT = wire.FAULT.lower().encode()
REFUSED = {fault.value.encode() for fault in FAULTS}


class Accounting:
    """For the event loop's thread. `keep` is told of every invocation that was sent to a variant."""

    def __init__(self, meters: Meters, keep: Callable[[Invocation], None]) -> None:
        self._meters = meters
        self._keep = keep
        self._ended: list[Journey] = []
        self._alarm: asyncio.TimerHandle | None = None

    def add(self, journey: Journey) -> None:
        """One that has ended, and whose answer's body is held no longer."""
        self._ended.append(journey)
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(WITHIN_S, self.settle)

    def meanwhile(self) -> None:
        """A request was just sent to an instance: so there is time for those who have ended."""
        if len(self._ended) >= TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Metrics and ledger know of all that have ended. One that cannot be accounted for is logged."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        ended, self._ended = self._ended, []
        samples: dict[tuple[str, str, int], list[Sample]] = {}  # by endpoint, variant and minute
        for journey in ended:
            try:
                sample = self._entered(journey)
            except Exception:
                log.exception("request %s is not accounted for", journey.request_id)
                continue
            if sample is not None and (route := journey.route) is not None:
                samples.setdefault((route.live.name, route.variant, minute_of(journey.ended_at_s)), []).append(sample)
        for (endpoint, variant, minute_s), some in samples.items():
            self._meters.add(endpoint, variant, some, minute_s)

    def _entered(self, journey: Journey) -> Sample | None:
        """Into the ledger, if it was sent to a variant; what the metrics are to learn of it."""
        route, outcome = journey.route, journey.outcome
        if route is None or outcome is None:
            return None
        if isinstance(outcome, RuntimeFault):
            return self._failed(journey, route, outcome)
        told = dict(outcome.answer.headers)
        self._keep(journey.invocation(route, outcome.instance, told))
        if told.get(FAULT) in REFUSED:
            return None  # the platform's own answer: the request never reached a model
        return _sample(journey, route, outcome, told.get(MODEL_CACHE))

    def _failed(self, journey: Journey, route: Route, fault: RuntimeFault) -> Sample | None:
        """A request that broke on its way counts against the model; one that was refused does not."""
        if fault.situation is Situation.NO_CAPACITY:
            self._meters.no_capacity(route.live.name, route.variant, journey.ended_at_s)
        if fault.original is not None or fault.steps:
            self._keep(journey.invocation(route, "", {}))
        if fault.original is None:
            return None
        return Sample(len(route.crew.ready), None, journey.total_s, 0.0, None)


def _sample(journey: Journey, route: Route, served: Served, cache: bytes | None) -> Sample:
    """`cache` is what the instance says of its models in memory."""
    loading_s = 0.0
    if not LOADING.isdisjoint(journey.steps):  # most have nothing of the kind
        loading_s = sum([took_s for step, took_s in journey.steps.items() if step in LOADING])
    model_s = served.sent_s - loading_s
    hit = None if cache is None else cache == b"hit"
    overhead_s, concurrency = journey.total_s - model_s, _concurrency(route, served)
    return Sample(served.instances, served.answer.status, model_s, overhead_s, hit, loading_s, concurrency)


def _concurrency(route: Route, served: Served) -> Concurrency | None:
    allowed = route.crew.variant.serverless
    if allowed is None:
        return None
    return Concurrency(served.in_flight, allowed.max_concurrency, allowed.provisioned_concurrency)
