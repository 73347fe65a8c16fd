"""Writes each request that was sent to a variant to the ledger: cold ones whole, warm ones as sums of their group."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from torpor_container import wire
from torpor_endpoint.core.ledger import PREDICT, arrival_moments, arrival_seconds
from torpor_endpoint.core.ledger_records import NO_SECONDS, InvocationRecord, WarmRequests, cold_load
from torpor_endpoint.core.model_choice.choosing_model import told_choice
from torpor_endpoint.core.model_choice.made_choices import MadeChoices, made_choices
from torpor_endpoint.runtime.face_notes import face_of
from torpor_endpoint.runtime.observing.observers import Alike
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Route, Served
from torpor_endpoint.runtime.request import INFERENCE_ID

COLD = wire.COLD.lower().encode()
EFFORT = wire.EFFORT.lower().encode()


class LedgerWriter(Protocol):
    """The ledger, as far as requests are written to it."""

    def invoked(self, invocation: InvocationRecord) -> None: ...

    def warmed(self, warm: WarmRequests) -> None: ...

    def chosen(self, made: MadeChoices) -> None: ...


class LedgerObserver:
    def __init__(self, ledger: LedgerWriter) -> None:
        self._ledger = ledger

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        """A request that was refused without a wait has no row."""
        route, outcome = request.route, request.outcome
        if route is None or outcome is None:
            return
        if isinstance(outcome, Served):
            self._ledger.invoked(record(request, route, outcome.instance, dict(outcome.answer.headers)))
            if route.choice is not None:
                chosen = [(request.at_s, route.choice)]
                self._note(made_choices(route.live.name, route.variant, route.target or "", chosen))
        elif outcome.original is not None or outcome.steps:
            self._ledger.invoked(record(request, route, "", {}))

    def ended_alike(self, alike: Alike, requests: Sequence[Passage], served: Sequence[Served]) -> None:
        came_s = [request.at_s for request in requests]
        self._ledger.warmed(
            WarmRequests(
                alike.came_minute_s,
                alike.endpoint,
                alike.variant,
                alike.target or "",
                alike.instance,
                [request.total_s for request in requests],
                [request.steps.get(PREDICT, 0.0) for request in requests],
                sum([request.request_bytes for request in requests]),
                sum([request.response_bytes for request in requests]),
                (min(came_s), max(came_s)),
                NO_SECONDS if requests[0].container_s is None else _in_containers(requests),
                alike.pool.variant.shadow,
                arrival_seconds(came_s),
                arrival_moments(came_s),
                alike.face,
            )
        )
        if alike.pool.groups is not None:
            routes = [(request.at_s, request.route) for request in requests]
            chosen = [(at_s, one.choice) for at_s, one in routes if one is not None and one.choice is not None]
            self._note(made_choices(alike.endpoint, alike.variant, alike.target or "", chosen))

    def _note(self, made: Sequence[MadeChoices]) -> None:
        for one in made:
            self._ledger.chosen(one)


def record(request: Passage, route: Route, instance: str, headers: Mapping[bytes, bytes]) -> InvocationRecord:
    """The ledger's row of one request; `headers` are those of the instance's answer."""
    return InvocationRecord(
        request.at_s,
        request.request_id,
        route.live.name,
        route.variant,
        route.target or route.adapter,
        instance,
        request.status,
        request.steps,
        request.total_s,
        request.request_bytes,
        request.response_bytes,
        _cold(headers),
        None if request.trail is not None else _effort(headers),  # the last container's alone
        (request.request and request.request.text(INFERENCE_ID)) or "",
        request.container_s or NO_SECONDS,
        route.pool.variant.shadow,
        face_of(request.scope),
        "" if route.choice is None else told_choice(route.choice),
    )


def _in_containers(requests: Sequence[Passage]) -> Mapping[str, float]:
    """The seconds in each container of a pipeline, over all these requests. All of them went to one instance."""
    seconds: dict[str, float] = {}
    for request in requests:
        for container, spent_s in (request.container_s or NO_SECONDS).items():
            seconds[container] = seconds.get(container, 0.0) + spent_s
    return seconds


def _cold(headers: Mapping[bytes, bytes]) -> wire.ColdLoad | None:
    """What the instance says of a load."""
    return cold_load(headers.get(COLD))


def _effort(headers: Mapping[bytes, bytes]) -> wire.EffortFields | None:
    """What the prediction took, if it was measured."""
    if EFFORT not in headers:
        return None
    work_s, delay_s = map(float, headers[EFFORT].split())
    return {"work_s": work_s, "delay_s": delay_s}
