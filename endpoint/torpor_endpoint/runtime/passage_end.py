"""The end of a passage, whoever sent the request: its answer, and what the observers and the shadow variants get of it.

One place makes the answer for the caller, sends an answer that is whole, and tells the observers.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from torpor_account.aws.wire.asgi import Disconnected, Send
from torpor_account.aws.wire.scope import region_of
from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.log_lines import LogFields, about
from torpor_container.transport.upstream_answers import Body, UpstreamAnswer
from torpor_container.wire import WaitStep
from torpor_endpoint.core.model_choice.choosing_model import told_choice
from torpor_endpoint.core.sending.trail import has_led
from torpor_endpoint.in_service.wait_estimates import WaitEstimates
from torpor_endpoint.runtime.errors import RuntimeFault, Situation, check_attributes, from_answer, wire_form
from torpor_endpoint.runtime.face_notes import FACE
from torpor_endpoint.runtime.observing.answer_heads import head_of
from torpor_endpoint.runtime.observing.observers import Observers
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Route, Served, server_timing
from torpor_endpoint.runtime.shadowing import CopyEnds, Shadowing

log = logging.getLogger(__name__)

T = TypeVar("T")

FAILED = "request %s to endpoint %s failed"
LOAD = WaitStep.LOAD.value
VARIANT = b"x-amzn-invoked-production-variant"
ANSWERED_BY = b"x-torpor-target-model"
"""The target of the version that answered, for a caller who named a model with versions."""
CHOICE = b"x-torpor-choice"
"""Why the model answers that was chosen, for a caller who named a group."""
MODEL_FAILED = 424
"""The status that the caller of a model gets for the model's own failure."""


class PassageEnd:
    """The end of all passages that these observers see. `steady` gives seconds that only go forward. Without
    `shadowing` no request is copied to a shadow variant."""

    def __init__(self, observers: Observers, steady: Callable[[], float], shadowing: Shadowing | None = None) -> None:
        self._observers = observers
        self._steady = steady
        self._shadowing = shadowing
        self._copy_ends = CopyEnds(observers.reads_bodies, self._copy_ended)

    async def settled(self, passage: Passage, served: Awaitable[T]) -> T | RuntimeFault:
        """What a request came to. Raises Disconnected."""
        try:
            return await served
        except RuntimeFault as fault:
            return fault
        except Disconnected:
            raise
        except RecordsFault as fault:
            if not fault.told:
                log.error(f"{FAILED}: %s", passage.request_id, passage.home.endpoint, fault, extra=_known(passage))
            return RuntimeFault(Situation.DATABASE_AWAY)
        except Exception:  # the outer edge: the fault of one request is logged and answered, and harms no other request
            log.exception(FAILED, passage.request_id, passage.home.endpoint, extra=_known(passage))
            return RuntimeFault(Situation.INTERNAL)

    def answer(self, passage: Passage, outcome: Served | RuntimeFault) -> InvokeAnswer:
        """The answer for the caller, with the headers that every answer has but its length. The passage has ended."""
        try:
            answer = _answer_of(passage, outcome)
        except RuntimeFault as fault:
            answer = _refusal(passage, fault)
            if fault.situation is Situation.THROTTLED and passage.route is not None:
                passage.route.pool.refuse()  # with its answer: a request may take the step admit twice
        except Exception:  # the outer edge, as above
            log.exception(FAILED, passage.request_id, passage.home.endpoint, extra=_known(passage))
            answer = _refusal(passage, RuntimeFault(Situation.INTERNAL))
        passage.end(answer.status, sum(map(len, answer.chunks)), self._steady() - passage.began_s)
        answer.headers += (
            (b"x-amzn-requestid", passage.request_id.encode()),
            (b"server-timing", server_timing(passage.steps)),
        )
        return answer

    async def send(self, passage: Passage, outcome: Served | RuntimeFault, send: Send) -> None:
        """Send the whole answer to the caller, and tell the observers, however the sending ends."""
        answer = self.answer(passage, outcome)
        headers = [*answer.headers, (b"content-length", b"%d" % passage.response_bytes)]
        try:
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await _send_all(list(answer.chunks) if self._observers.reads_bodies(passage) else answer.chunks, send)
        finally:
            self.account(passage, answer)

    def unread(self, passage: Passage, outcome: Served | RuntimeFault, result_bytes: int) -> None:
        """The end of a passage whose answer no caller reads: it is kept elsewhere, or nowhere."""
        passage.outcome = outcome
        if isinstance(outcome, Served):
            passage.measured(outcome.answer)
            status = outcome.answer.status if 200 <= outcome.answer.status < 300 else MODEL_FAILED
            answer = InvokeAnswer(status, outcome.answer.headers, [])
        else:
            answer = InvokeAnswer(outcome.situation.status, [], [])
        passage.end(answer.status, result_bytes, self._steady() - passage.began_s)
        self._observers.account(passage, answer)

    def account(self, passage: Passage, answer: InvokeAnswer) -> None:
        """The last step: observers see the request and its answer, and the bodies are released."""
        if passage.readers:
            self._observers.see(passage, answer)
        if passage.route is not None and passage.route.live.shadows:
            self._copy(passage)
        passage.body.clear()
        answer.chunks.clear()
        self._observers.account(passage, answer)

    def release(self, passage: Passage) -> Callable[[], None] | None:
        """What releases a routed request's body once it is sent; None if an observer or a shadow variant needs it."""
        shadowed = passage.route is not None and bool(passage.route.live.shadows)  # they may get a copy
        return None if self._observers.reads_bodies(passage) or shadowed else passage.body.clear

    # -- copies for shadow variants --------------------------------------------------------------------------------
    def _copy(self, passage: Passage) -> None:
        if self._shadowing is not None and passage.route is not None:
            self._shadowing.copy(passage, passage.route, self._copy_ends)

    def _copy_ended(self, copy: Passage, outcome: Served | RuntimeFault) -> None:
        """A copy ends as a request does, but nobody gets its answer."""
        self.account(copy, self.answer(copy, outcome))


def _known(passage: Passage) -> dict[str, object]:
    """The fields of a line in the log about a request."""
    known: LogFields = {"request_id": passage.request_id, "endpoint": passage.home.endpoint}
    if passage.route is not None:
        known["variant"] = passage.route.variant
    return about(**known)


def _answer_of(passage: Passage, outcome: Served | RuntimeFault) -> InvokeAnswer:
    """Raises RuntimeFault if the request was not served well."""
    route = passage.route
    if route is None:
        assert isinstance(outcome, RuntimeFault), "only a routed request is served"
        raise outcome
    passage.outcome = outcome
    if isinstance(outcome, RuntimeFault):
        raise outcome
    passage.measured(outcome.answer)
    copied = _copied(passage, route, outcome.answer)
    if outcome.instances > 1 and (name := route.target or route.adapter):
        _learn(passage, route.pool.waits, name, outcome)
    return copied


def _learn(passage: Passage, waits: WaitEstimates, name: str, served: Served) -> None:
    """Note how long the call for this model or adapter waited. A call that joined a load waited for a part of it, and
    says nothing of the whole."""
    if LOAD not in passage.steps:
        waits.answered(name, served.sent_s, served.requests)
    elif has_led(served.answer):
        waits.load_took(name, served.sent_s)


def _copied(passage: Passage, route: Route, answer: UpstreamAnswer) -> InvokeAnswer:
    """The instance's answer, as the caller gets it. Raises RuntimeFault for one that fails or that cannot be sent."""
    if not 200 <= answer.status < 300:
        fault = from_answer(answer, passage.place)
        answer.chunks.clear()
        raise fault
    head, copies = head_of(answer), route.pool.variant.copies
    if head.attributes:
        check_attributes(head.copied, passage.place)
    production = route.variant if copies is None else copies.placed_on
    headers = [*head.copied, (VARIANT, production.encode())]
    if route.asked is not None and route.target is not None:
        headers.append((ANSWERED_BY, route.target.encode(errors="surrogateescape")))
    if route.choice is not None:
        headers.append((CHOICE, told_choice(route.choice).encode(errors="surrogateescape")))
    return InvokeAnswer(answer.status, headers, answer.chunks)


def _refusal(passage: Passage, fault: RuntimeFault) -> InvokeAnswer:
    """In the words of the region that the request was signed for, if it was signed."""
    scope, place = passage.scope, passage.place
    if FACE in scope:
        scope[FACE].fault = fault
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    region = region_of(headers, scope.get("query_string", b"").decode("latin-1"), otherwise=place.region)
    status, answered, body = wire_form(fault, place._replace(region=region))
    return InvokeAnswer(status, answered, [body])


async def _send_all(chunks: Body, send: Send) -> None:
    """Chunk by chunk, as fast as the caller takes them; each is released as it is sent."""
    chunks.reverse()
    while len(chunks) > 1:
        await send({"type": "http.response.body", "body": chunks.pop(), "more_body": True})
    await send({"type": "http.response.body", "body": chunks.pop() if chunks else b""})
