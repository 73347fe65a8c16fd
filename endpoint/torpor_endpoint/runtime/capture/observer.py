"""Chooses the requests that data capture samples, and notes them when their answers are on their way, or their streams
have ended."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from torpor_container import wire
from torpor_container.transport.upstream import size_of
from torpor_endpoint.core.capture import UNKNOWN_TYPE, CapturedBody, CapturedRequest, CapturedStream
from torpor_endpoint.core.model_choice.choosing_model import told_choice
from torpor_endpoint.core.resource_records import DataCapture
from torpor_endpoint.core.sending.machine import CONTENT_TYPE, CUSTOM_ATTRIBUTES
from torpor_endpoint.runtime.face_notes import face_of
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Route, Served, StreamFacts
from torpor_endpoint.runtime.request import INFERENCE_ID, Invoke

DRAW = "torpor.capture_draw"
"""The key of the scope under which a request keeps its draw. A request that cannot go inline, and a copy for a shadow
variant, have the same one."""
VERSION = wire.ARTIFACT_VERSION.lower().encode()
DIGEST = wire.ARTIFACT_DIGEST.lower().encode()


class SampledRequest(NamedTuple):
    """A sampled request and its answer. It has their chunks, since the bodies are emptied soon."""

    capture: DataCapture
    request: Passage
    invoke: Invoke
    route: Route
    served: Served
    body: list[bytes]
    chunks: list[bytes]

    def captured(self) -> CapturedRequest:
        """What its record is made of."""
        headers, target, stream = self.invoke.headers, self.route.target, self.request.stream
        ended = None if stream is None else _ended(stream)
        broken = stream is not None and (ended is not CapturedStream.COMPLETE or stream.cut)
        return CapturedRequest(
            self.capture,
            self.route.live.name,
            self.route.variant,
            self.request.request_id,
            self.request.at_s,
            CapturedBody(_type(headers.items()), self.body) if self.capture.input else None,
            CapturedBody(_type(self.served.answer.headers), self.chunks, broken) if self.capture.output else None,
            _text(headers.get(CUSTOM_ATTRIBUTES)),
            _text(headers.get(INFERENCE_ID)),
            None if target is None else _text(target.encode(errors="surrogateescape")),
            _text(self.served.answer.header(VERSION)),
            ended,
            stream is not None and stream.cut,
            _text(self.served.answer.header(DIGEST)),
            None if self.route.choice is None else told_choice(self.route.choice),
            face_of(self.request.scope) or None,
        )


class CaptureObserver:
    """Notes each sampled request that a model answered well.

    `draw` gives numbers from 0 to 1. `add` takes a sampled request with the bytes of its bodies, and returns at once.
    `lost` counts a request of (endpoint, variant) that was sampled, and that there is no memory to keep. What a record
    needs is read later: the same work between two requests takes more than twice as long.
    """

    def __init__(
        self,
        draw: Callable[[], float],
        add: Callable[[SampledRequest, int], None],
        lost: Callable[[str, str], None],
    ) -> None:
        self._draw = draw
        self._add = add
        self._lost = lost

    def may_read(self, route: Route) -> bool:
        capture = route.pool.variant.capture
        return capture is not None and capture.enabled

    def reads(self, request: Passage) -> bool:
        """Whether the request is sampled. Its instance is asked for the version of the model then."""
        route = request.route
        if route is None or (capture := route.pool.variant.capture) is None or not capture.enabled:
            return False
        if DRAW not in request.scope:
            request.scope[DRAW] = self._draw()
        if request.scope[DRAW] * 100 >= capture.sampling_percentage:
            return False
        request.wants_version = True
        return True

    def missed(self, request: Passage) -> None:
        if request.route is not None:
            self._lost(request.route.live.name, request.route.variant)

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        route, invoke, served = request.route, request.request, request.outcome
        if route is None or invoke is None or not isinstance(served, Served) or answer.status >= 300:
            return
        capture = route.pool.variant.capture
        if capture is None or not capture.enabled:  # an update has turned it off since the request was chosen
            return
        body = request.body.copy() if capture.input else []
        chunks = answer.chunks.copy() if capture.output else []
        size_bytes = request.request_bytes * capture.input + size_of(chunks)
        self._add(SampledRequest(capture, request, invoke, route, served, body, chunks), size_bytes)


def _ended(stream: StreamFacts) -> CapturedStream:
    if stream.failed:
        return CapturedStream.FAILED
    return CapturedStream.CALLER_LEFT if stream.left else CapturedStream.COMPLETE


def _type(headers: Iterable[tuple[bytes, bytes]]) -> str:
    for name, value in headers:
        if name == CONTENT_TYPE:
            return value.decode(errors="replace")
    return UNKNOWN_TYPE


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
