"""The trace of each payload of a transform job: its containers learn their place in it, and its spans are sent.

A payload has a trace of its own: nobody calls it. Its spans are planned from the books of its way, as a request's are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.sending.machine import Sending, SendingFailure, TraceCarrier
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import LiveEndpoint
from torpor_endpoint.runtime.errors import ErrorPlace, no_response, timed_out
from torpor_endpoint.runtime.passage import PAYLOAD, CallLimits, InvokeAnswer, Passage, Route, Served
from torpor_endpoint.telemetry.tracing import TraceObserver, Tracing

LIMITS = CallLimits()


class TracedPayload(NamedTuple):
    """One payload, as a request that nobody calls."""

    passage: Passage
    job: "JobTraces"

    @property
    def trace(self) -> TraceCarrier | None:
        return self.passage.trace

    def ended(self, sending: Sending[Incarnation]) -> None:
        """The payload has its outcome: send its spans."""
        payload, pool, answer, size_bytes = self.passage, self.job.pool, sending.answer, 0
        payload.trail = sending.trail
        if sending.trail is not None:
            payload.steps = sending.trail.totals
        if isinstance(answer, UpstreamAnswer) and sending.instance is not None:
            status, size_bytes = answer.status, sum(map(len, answer.chunks))
            payload.measured(answer)
            payload.outcome = Served(answer, sending.instance.id, len(pool.ready), 1, sending.took_s)
        else:
            timeout = sending.failure is SendingFailure.TIMED_OUT
            payload.outcome = fault = timed_out(payload.place) if timeout else no_response(payload.place)
            status = fault.situation.status
        payload.end(status, size_bytes, self.job.steady() - payload.began_s)
        self.job.observer.ended(payload, InvokeAnswer(status, [], []))


@dataclass(frozen=True)
class JobTraces:
    """The traces of one job's payloads. `epoch` gives seconds since 1970, and `steady` seconds that only go forward."""

    job: str
    arn: str
    pool: VariantPool
    tracing: Tracing
    observer: TraceObserver
    epoch: Callable[[], float]
    steady: Callable[[], float]

    def begun(self, model: str | None, size_bytes: int) -> TracedPayload:
        """A payload that has its place in a trace."""
        name = self.pool.variant.name
        scope = {"type": PAYLOAD, "method": "POST", "path": f"/transform-jobs/{self.job}", "headers": []}
        place = ErrorPlace(self.job, "", "")
        payload = Passage(scope, place, LIMITS, self.epoch(), self.steady(), request_bytes=size_bytes, request_id="")
        live, path = (
            LiveEndpoint(self.job, self.arn, {name: self.pool}),
            tuple(range(len(self.pool.variant.containers))),
        )
        payload.route = Route(live, name, self.pool, model, path)
        self.tracing.begin(payload)
        return TracedPayload(payload, self)
