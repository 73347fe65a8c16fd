"""The trace of each payload of a transform job: its containers learn their place in it, and its spans are sent.

A payload has a trace of its own: nobody calls it. Its spans are planned from the books of its way, as a request's are.
"""

from collections.abc import Callable
from typing import NamedTuple

from torpor_container.transport.upstream import UpstreamAnswer
from torpor_endpoint.core.sending.machine import Sending, SendingFailure
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.endpoints import LiveEndpoint
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.runtime.errors import ErrorPlace, no_response, timed_out
from torpor_endpoint.runtime.passage import (
    PAYLOAD,
    CallLimits,
    InvokeAnswer,
    Passage,
    Route,
    Served,
    Step,
    Trail,
)

LIMITS = CallLimits()


class PayloadTracing(NamedTuple):
    """What telemetry does for payloads: `begin` finds their place in a trace, and `ended` sends their spans."""

    begin: Step
    ended: Callable[[Passage, InvokeAnswer], None]


class PayloadTraces:
    """The traces of one job's payloads. `epoch` gives seconds since 1970, and `steady` seconds that only go forward."""

    def __init__(
        self,
        job: str,
        arn: str,
        pool: InstancePool,
        tracing: PayloadTracing,
        epoch: Callable[[], float],
        steady: Callable[[], float],
    ) -> None:
        self._place = ErrorPlace(job, "", "", "")
        self._live = LiveEndpoint(job, arn, {pool.variant.name: pool})
        self._pool = pool
        self._tracing = tracing
        self._epoch = epoch
        self._steady = steady

    def begun(self, model: str | None, size_bytes: int) -> Passage:
        """A payload that has its place."""
        scope = {"type": PAYLOAD, "method": "POST", "path": f"/transform-jobs/{self._place.endpoint}", "headers": []}
        payload = Passage(scope, self._place, LIMITS, self._epoch(), self._steady(), request_bytes=size_bytes)
        path = tuple(range(len(self._pool.variant.containers)))
        payload.route = Route(self._live, self._pool.variant.name, self._pool, model, path)
        self._tracing.begin(payload)
        return payload

    def ended(self, payload: Passage, sending: Sending[Incarnation]) -> None:
        """The payload has its outcome."""
        answer, status, size_bytes = sending.answer, 0, 0
        if sending.trail is not None:
            payload.trail = Trail(sending.trail.seconds, steps=sending.trail.steps)
        if isinstance(answer, UpstreamAnswer) and sending.instance is not None:
            status, size_bytes = answer.status, sum(map(len, answer.chunks))
            payload.measured(answer)
            payload.outcome = Served(answer, sending.instance.id, len(self._pool.ready), 1, sending.took_s)
        else:
            timeout = sending.failure is SendingFailure.TIMED_OUT
            payload.outcome = fault = timed_out(payload.place) if timeout else no_response(payload.place)
            status = fault.situation.status
        payload.end(status, size_bytes, self._steady() - payload.began_s)
        self._tracing.ended(payload, InvokeAnswer(status, [], []))
