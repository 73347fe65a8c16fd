"""Writes a line into the log for each invocation that has ended: `torpor up --log-format json`.

A batch observer. A failure that is not the request's own is a warning; everything else is information, which
`--log-level info` shows.
"""

import logging
from collections.abc import Sequence

from torpor_account.aws.wire.asgi import Headers
from torpor_account.log_lines import LogFields, about, rfc3339
from torpor_endpoint.core.ledger import is_cold
from torpor_endpoint.runtime.face_notes import face_of
from torpor_endpoint.runtime.observing.observers import Alike
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Served
from torpor_endpoint.runtime.request import INFERENCE_ID
from torpor_endpoint.telemetry.spans import CALLERS_FAULTS, error_code
from torpor_endpoint.telemetry.trace_context import RequestTrace

ACCESS = "torpor_endpoint.access"


class AccessLog:
    """Writes to the logger `ACCESS`."""

    def __init__(self) -> None:
        self._log = logging.getLogger(ACCESS)

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        self._write(request, answer.headers)

    def ended_alike(self, alike: Alike, requests: Sequence[Passage], served: Sequence[Served]) -> None:
        if self._log.isEnabledFor(logging.INFO):  # none of them failed
            for request in requests:
                self._write(request, [])

    def _write(self, request: Passage, answered: Headers) -> None:
        code = error_code(request, answered)
        level = logging.INFO if code is None or code in CALLERS_FAULTS else logging.WARNING
        if self._log.isEnabledFor(level):
            method, path = str(request.scope["method"]), str(request.scope["path"])
            self._log.log(level, "%s %s %d", method, path, request.status, extra=about(**fields(request, code)))


def fields(request: Passage, code: str | None) -> LogFields:
    """What is known of a request that has ended."""
    found: LogFields = {"request_id": request.request_id, "endpoint": request.home.endpoint}
    if request.route is not None:
        found["endpoint"], found["variant"] = request.route.live.name, request.route.variant
        if request.route.target is not None:
            found["model"] = request.route.target
        if request.route.pool.variant.shadow:
            found["shadow"] = True
    if isinstance(request.outcome, Served):
        found["instance"] = request.outcome.instance
    if face := face_of(request.scope):
        found["face"] = face
    if request.request is not None and (inference_id := request.request.text(INFERENCE_ID)):
        found["inference_id"] = inference_id
    found["came"] = rfc3339(request.at_s)
    found["method"], found["path"] = request.scope["method"], request.scope["path"]
    found["status"] = request.status
    if code is not None:
        found["error"] = code
    found["cold"] = is_cold(request.steps)
    found["duration_ms"] = _ms(request.total_s)
    found["steps_ms"] = {step: _ms(took_s) for step, took_s in request.steps.items()}
    found["request_bytes"], found["response_bytes"] = request.request_bytes, request.response_bytes
    if isinstance(request.trace, RequestTrace) and request.trace.trace_id:
        found["trace_id"], found["span_id"] = f"{request.trace.trace_id:032x}", f"{request.trace.span_id:016x}"
    return found


def _ms(took_s: float) -> float:
    return round(1000 * took_s, 3)
