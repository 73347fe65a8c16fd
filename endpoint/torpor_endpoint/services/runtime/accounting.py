"""What requests that have ended add to the metrics and the ledger: the two are told of many at once.

Told of each by itself, they cost a request more than twice as much: between two requests the processor's caches lose
what they do (benchmarks/README.md). So what is read of either is `settle`d first.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from torpor_container import wire
from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger import COLD_STEPS, PREDICT, minute_of
from torpor_endpoint.core.ledger_records import InvocationRecord, WarmRequests
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.services.runtime.errors import FAULTS, RuntimeFault, Situation
from torpor_endpoint.services.runtime.journey import Journey
from torpor_endpoint.services.runtime.meter import AlikeRequests, Concurrency, Meters
from torpor_endpoint.services.runtime.router import Route, Served
from torpor_endpoint.storage.records import Serverless

log = logging.getLogger(__name__)

TOGETHER = 32
"""So many are told together as soon as the endpoint itself waits for an instance: for about as long as the two take for
so many."""
WITHIN_S = 0.1
"""Nobody is told of later than that."""

LOADING = frozenset({WaitStep.QUEUE.value, WaitStep.DOWNLOAD.value, WaitStep.UNPACK.value, WaitStep.LOAD.value})
MODEL_CACHE = wire.MODEL_CACHE.lower().encode()
HIT = b"hit"
FAULT = wire.FAULT.lower().encode()
REFUSED = {fault.value.encode() for fault in FAULTS}
OK = 200
TOLD_EACH = frozenset(name.lower().encode() for name in (wire.COLD, wire.EFFORT, wire.FAULT))
"""Who has one of these in its answer is told of by itself."""


class LedgerWriter(Protocol):
    """The ledger, as far as it is told here."""

    def invoked(self, invocation: InvocationRecord) -> None: ...

    def warmed(self, warm: WarmRequests) -> None: ...


Alike = tuple[str, str, InstancePool, str | None, str, int, bool | None, int, int]
"""What warm requests have in common that are told of as one: endpoint, variant, its pool, target, instance, how many
instances there were, hit, and the minutes in which they came and ended. A plain tuple, for it is made of each."""


class Accounting:
    """For the event loop's thread. The books are told of every invocation that was sent to a variant."""

    def __init__(self, meters: Meters, books: LedgerWriter) -> None:
        self._meters = meters
        self._books = books
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
        """Metrics and ledger know of all that have ended. One that can not be accounted for is logged."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        ended, self._ended = self._ended, []
        warm: dict[Alike, list[Journey]] = {}
        for journey in ended:
            try:
                alike = _warm(journey)
                if alike is None:
                    self._enter(journey)
                elif alike in warm:
                    warm[alike].append(journey)
                else:
                    warm[alike] = [journey]
            except Exception:
                log.exception("request %s is not accounted for", journey.request_id)
        for alike, journeys in warm.items():
            self._enter_warm(alike, journeys)

    def _enter_warm(self, alike: Alike, journeys: Sequence[Journey]) -> None:
        endpoint, variant, pool, target, instance, instances, hit, came_minute_s, ended_minute_s = alike
        totals_s = [journey.total_s for journey in journeys]
        came_s = [journey.at_s for journey in journeys]
        self._books.warmed(
            WarmRequests(
                came_minute_s,
                endpoint,
                variant,
                (target or "").removeprefix("/"),
                instance,
                totals_s,
                [journey.steps.get(PREDICT, 0.0) for journey in journeys],
                sum([journey.request_bytes for journey in journeys]),
                sum([journey.response_bytes for journey in journeys]),
                (min(came_s), max(came_s)),
            )
        )
        served = [journey.outcome for journey in journeys if isinstance(journey.outcome, Served)]
        model_s = [one.sent_s for one in served]
        overhead_s = [total_s - sent_s for total_s, sent_s in zip(totals_s, model_s, strict=True)]
        allowed = pool.variant.serverless
        concurrency = [_concurrency(allowed, one) for one in served] if allowed is not None else ()
        samples = AlikeRequests(instances, OK, hit, model_s, overhead_s, (), concurrency)
        self._meters.add(endpoint, variant, samples, ended_minute_s)

    def _enter(self, journey: Journey) -> None:
        """Into the ledger, if it was sent to a variant; into the metrics, if it reached a model or broke on its way."""
        route, outcome = journey.route, journey.outcome
        if route is None or outcome is None:
            return
        if isinstance(outcome, RuntimeFault):
            samples = self._failed(journey, route, outcome)
        else:
            told = dict(outcome.answer.headers)
            self._books.invoked(journey.invocation(route, outcome.instance, told))
            # The platform's own answer is left out: the request never reached a model.
            samples = None if told.get(FAULT) in REFUSED else _samples(journey, route, outcome, told.get(MODEL_CACHE))
        if samples is not None:
            self._meters.add(route.live.name, route.variant, samples, minute_of(journey.ended_at_s))

    def _failed(self, journey: Journey, route: Route, fault: RuntimeFault) -> AlikeRequests | None:
        """A request that broke on its way counts against the model; one that was refused does not."""
        if fault.situation is Situation.NO_CAPACITY:
            self._meters.no_capacity(route.live.name, route.variant, journey.ended_at_s)
        if fault.original is not None or fault.steps:
            self._books.invoked(journey.invocation(route, "", {}))
        if fault.original is None:
            return None
        return AlikeRequests(len(route.pool.ready), None, None, [journey.total_s], [0.0])


def _warm(journey: Journey) -> Alike | None:
    """What it has in common with others, if it was served, waited for nothing, and nothing was measured."""
    route, served = journey.route, journey.outcome
    if route is None or not isinstance(served, Served) or not served.answer.status == journey.status == OK:
        return None
    if not COLD_STEPS.isdisjoint(journey.steps):
        return None
    hit: bool | None = None
    for name, value in served.answer.headers:
        if name in TOLD_EACH or (name == MODEL_CACHE and value != HIT):
            return None
        if name == MODEL_CACHE:
            hit = True
    live, variant, pool, target = route
    came, ended = minute_of(journey.at_s), minute_of(journey.ended_at_s)
    return live.name, variant, pool, target, served.instance, served.instances, hit, came, ended


def _samples(journey: Journey, route: Route, served: Served, cache: bytes | None) -> AlikeRequests:
    """Of one request. `cache` is what the instance says of its models in memory."""
    loading_s = sum([took_s for step, took_s in journey.steps.items() if step in LOADING])
    model_s = served.sent_s - loading_s
    hit = None if cache is None else cache == HIT
    allowed = route.pool.variant.serverless
    concurrency = [_concurrency(allowed, served)] if allowed is not None else ()
    status, overhead_s = served.answer.status, journey.total_s - model_s
    return AlikeRequests(served.instances, status, hit, [model_s], [overhead_s], [loading_s], concurrency)


def _concurrency(allowed: Serverless, served: Served) -> Concurrency:
    return Concurrency(served.in_flight, allowed.max_concurrency, allowed.provisioned_concurrency)
