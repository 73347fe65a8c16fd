"""Chooses the requests that data capture samples, and notes them when their answers are on their way."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from torpor_endpoint.core.capture import UNKNOWN_TYPE, CapturedBody, CapturedRequest
from torpor_endpoint.core.records import DataCapture
from torpor_endpoint.services.runtime.passage import InvokeAnswer, Passage, Route, Served
from torpor_endpoint.services.runtime.request import CONTENT_TYPE, CUSTOM_ATTRIBUTES, INFERENCE_ID, Invoke

WHOLE_ANSWER = "/invocations"
"""The end of the path of InvokeEndpoint, whose answer is whole; that of a stream comes in parts."""


class SampledRequest(NamedTuple):
    """A sampled request and its answer. It has their chunks, since the bodies are emptied soon."""

    capture: DataCapture
    request: Passage
    invoke: Invoke
    route: Route
    answer: InvokeAnswer
    body: list[bytes]
    chunks: list[bytes]

    def captured(self) -> CapturedRequest:
        """What its record is made of."""
        headers, target = self.invoke.headers, self.route.target
        return CapturedRequest(
            self.capture,
            self.route.live.name,
            self.route.variant,
            self.request.request_id,
            self.request.at_s,
            CapturedBody(_type(headers.items()), self.body) if self.capture.input else None,
            CapturedBody(_type(self.answer.headers), self.chunks) if self.capture.output else None,
            _text(headers.get(CUSTOM_ATTRIBUTES)),
            _text(headers.get(INFERENCE_ID)),
            None if target is None else _text(target.encode(errors="surrogateescape")),
        )


class CaptureObserver:
    """Notes each sampled request that a model answered well.

    `draw` gives numbers from 0 to 1. `add` takes a sampled request with the bytes of its bodies, and returns at once.
    What a record needs is read later: the same work between two requests takes more than twice as long.
    """

    def __init__(self, draw: Callable[[], float], add: Callable[[SampledRequest, int], None]) -> None:
        self._draw = draw
        self._add = add

    def reads(self, request: Passage) -> bool:
        """Whether the request is sampled. Requests whose answer is streamed are not."""
        route = request.route
        if not request.scope["path"].endswith(WHOLE_ANSWER):
            return False
        if route is None or (capture := route.pool.variant.capture) is None or not capture.enabled:
            return False
        return self._draw() * 100 < capture.sampling_percentage

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        route, invoke = request.route, request.request
        if route is None or invoke is None or not isinstance(request.outcome, Served) or answer.status >= 300:
            return
        capture = route.pool.variant.capture
        if capture is None or not capture.enabled:  # an update has turned it off since the request was chosen
            return
        body = request.body.copy() if capture.input else []
        chunks = answer.chunks.copy() if capture.output else []
        size_bytes = request.request_bytes * capture.input + request.response_bytes * capture.output
        self._add(SampledRequest(capture, request, invoke, route, answer, body, chunks), size_bytes)


def _type(headers: Iterable[tuple[bytes, bytes]]) -> str:
    for name, value in headers:
        if name == CONTENT_TYPE:
            return value.decode(errors="replace")
    return UNKNOWN_TYPE


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
