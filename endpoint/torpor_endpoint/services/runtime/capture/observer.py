"""Chooses the requests that data capture samples, and notes what a record needs when their answers are on their way."""

from collections.abc import Callable, Iterable

from torpor_endpoint.core.capture import UNKNOWN_TYPE, CapturedBody, CapturedRequest
from torpor_endpoint.services.runtime.passage import InvokeAnswer, Passage, Served
from torpor_endpoint.services.runtime.request import CONTENT_TYPE, CUSTOM_ATTRIBUTES, INFERENCE_ID


class CaptureObserver:
    """Notes each sampled request that a model answered well.

    `draw` gives numbers from 0 to 1. `add` takes a captured request and returns at once.
    """

    def __init__(self, draw: Callable[[], float], add: Callable[[CapturedRequest], None]) -> None:
        self._draw = draw
        self._add = add

    def reads(self, request: Passage) -> bool:
        """Whether the request is sampled."""
        route = request.route
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
        headers = invoke.headers
        self._add(
            CapturedRequest(
                capture,
                route.live.name,
                route.variant,
                request.request_id,
                request.at_s,
                _body(headers.items(), request.body) if capture.input else None,
                _body(answer.headers, answer.chunks) if capture.output else None,
                _text(headers.get(CUSTOM_ATTRIBUTES)),
                _text(headers.get(INFERENCE_ID)),
                None if route.target is None else _text(route.target.encode(errors="surrogateescape")),
            )
        )


def _body(headers: Iterable[tuple[bytes, bytes]], chunks: Iterable[bytes]) -> CapturedBody:
    """A body's chunks are shared: whoever releases a body empties its list, and leaves the chunks."""
    for name, value in headers:
        if name == CONTENT_TYPE:
            return CapturedBody(value.decode(errors="replace"), tuple(chunks))
    return CapturedBody(UNKNOWN_TYPE, tuple(chunks))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
