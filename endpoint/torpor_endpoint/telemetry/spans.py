"""Plans the spans of one request that has ended, from its passage. It makes values, and `span_sending` sends them.

The tree:

    POST /endpoints/{EndpointName}/invocations      the request (SERVER)
    ├── wake, hold                                  what it waited for before it was sent
    └── invoke, or invoke CONTAINER                 one for each container that it was sent to (CLIENT)
        └── queue, download, unpack, load, predict, stream

A copy for a shadow variant is a span `shadow copy` below the request's, with the same children. A payload of a batch
transform is a span `transform payload` without a parent, with the same children. The endpoint measures how long each of
them took; when each began follows from their order. What no step explains (the ledger's `overhead`) is the gaps between
the spans, and the attribute `torpor.overhead`.

Names of attributes are those of OpenTelemetry's semantic conventions where these have one, and else `torpor.*`.
"""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from torpor_account.aws.wire.asgi import Headers, Scope
from torpor_container import wire
from torpor_container.typed_json import read
from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger import is_cold
from torpor_endpoint.core.sending.trail import OVERHEAD
from torpor_endpoint.runtime.face_notes import face_of
from torpor_endpoint.runtime.passage import PAYLOAD, Passage, Route, Served
from torpor_endpoint.runtime.request import INFERENCE_ID
from torpor_endpoint.telemetry.trace_context import RequestTrace

AttributeValue = str | bool | int | float | Sequence[str]
Attributes = dict[str, AttributeValue]


class PlannedKind(StrEnum):
    """The names of OpenTelemetry's span kinds, as far as a request has them."""

    SERVER = "SERVER"
    CLIENT = "CLIENT"
    INTERNAL = "INTERNAL"


class PlannedSpan(NamedTuple):
    """One span. `span_id` None: any id will do. `error` is the description of a failed span's status."""

    name: str
    kind: PlannedKind
    span_id: int | None
    parent_id: int | None
    began_s: float  # epoch seconds
    ended_s: float
    attributes: Attributes
    error: str | None = None


ROUTES = ("invocations", "invocations-response-stream")
ROUTE = "/endpoints/{EndpointName}/"
BEFORE = (WaitStep.WAKE.value, WaitStep.HOLD.value)
"""The steps before a request is sent, in their order."""
ORDER = tuple(step.value for step in WaitStep if step.value not in (*BEFORE, OVERHEAD))
ERROR_TYPE = b"x-amzn-errortype"
STREAM_ERROR = "ModelStreamError"
CALLERS_FAULTS = frozenset({"ValidationError", "UnknownOperationException", "RequestTimeout", "413"})
"""Errors of the request itself. The conventions: "For HTTP status codes in the 4xx range span status MUST be left unset
in case of SpanKind.SERVER", unless the instrumentation knows more. It knows that all others are the endpoint's."""
COLD, MODEL_CACHE = wire.COLD.lower().encode(), wire.MODEL_CACHE.lower().encode()


def planned(request: Passage, answered: Headers, trace: RequestTrace) -> list[PlannedSpan]:
    """The spans of a request that has ended, the request's own first. `answered` are its answer's headers."""
    shadow = request.route is not None and request.route.pool.variant.shadow
    began_s, ended_s = request.at_s, request.ended_at_s
    code = error_code(request, answered)
    attributes = _attributes(request, code)
    kind, name = PlannedKind.SERVER, f"{request.scope['method']} {route_of(request.scope)}"
    if shadow or _is_payload(request):
        kind, name = PlannedKind.INTERNAL, "shadow copy" if shadow else "transform payload"
    error = code if code not in CALLERS_FAULTS else None
    root = PlannedSpan(name, kind, trace.span_id, trace.parent_id, began_s, ended_s, attributes, error)
    waits = [(step, request.steps[step]) for step in BEFORE if step in request.steps]
    if request.route is None or not trace.legs:
        return [root, *_in_a_row(waits, began_s, trace.span_id)]
    legs = _legs(request, request.route, trace, code)
    sent_at_s = legs[0].began_s
    waited_from_s = max(began_s, sent_at_s - sum(took_s for _, took_s in waits))
    return [root, *_in_a_row(waits, waited_from_s, trace.span_id), *legs]


def _is_payload(request: Passage) -> bool:
    """Whether it is no caller's request, but a payload of a batch transform."""
    return request.scope.get("type") == PAYLOAD


def route_of(scope: Scope) -> str:
    """The route of a request's path, of which there are few: the operation by its last part."""
    operation = scope["path"].rpartition("/")[2]
    return ROUTE + (operation if operation in ROUTES else "{operation}")


def error_code(request: Passage, answered: Headers) -> str | None:
    """AWS's code of the error that the caller got, or the status of one without a code; None for a success."""
    if request.stream is not None and request.stream.failed:
        return STREAM_ERROR
    if request.status < 400:
        return None
    types = [value.decode("latin-1").rstrip(":") for name, value in answered if name == ERROR_TYPE]
    return types[0] if types else str(request.status)


# -- the containers ------------------------------------------------------------------------------------------------
def _legs(request: Passage, route: Route, trace: RequestTrace, code: str | None) -> list[PlannedSpan]:
    """The spans of the containers that the request was sent to, each with its steps behind it.

    The last of them ends with the request, and each ends where the next begins.
    """
    places = sorted(trace.legs)
    names = [route.pool.variant.containers[route.path[place]].name for place in places]
    took_s = _seconds(request, names)
    began_s = max(request.at_s, request.ended_at_s - sum(took_s))
    spans: list[PlannedSpan] = []
    for at, (place, name, seconds) in enumerate(zip(places, names, took_s, strict=True)):
        last = at == len(places) - 1
        attributes: Attributes = {"network.transport": "unix", "http.request.method": "POST"}
        if request.trail is not None:
            attributes["torpor.container"] = name
        status = _status(request) if last else 200
        if status is not None:
            attributes["http.response.status_code"] = status
        failed = _failure(request, status, code) if last else None
        if failed is not None:
            attributes["error.type"] = failed
        shown = f"invoke {name}" if request.trail is not None else "invoke"
        span_id, ended_s = trace.legs[place], began_s + seconds
        spans.append(
            PlannedSpan(shown, PlannedKind.CLIENT, span_id, trace.span_id, began_s, ended_s, attributes, failed)
        )
        spans += _steps(_steps_of(request, at), began_s, ended_s, span_id)
        began_s = ended_s
    return spans


def _seconds(request: Passage, names: Sequence[str]) -> list[float]:
    """The seconds in each container. One that gave no answer has what is left of the request."""
    known = request.container_s
    if known is None and isinstance(request.outcome, Served):
        return [request.outcome.sent_s]
    seconds = [(known or {}).get(name) for name in names]
    before_s = sum(request.steps.get(step, 0.0) for step in BEFORE)
    left_s = max(0.0, request.total_s - before_s - sum(one for one in seconds if one is not None))
    return [left_s if one is None else one for one in seconds]


def _steps_of(request: Passage, at: int) -> Mapping[str, float]:
    """The steps of the container that is the request's `at`-th. A stream's last step is the endpoint's own measure."""
    if request.trail is None:
        return request.steps
    steps = request.trail.steps[at] if at < len(request.trail.steps) else {}
    streamed = request.steps.get(WaitStep.STREAM.value)
    last = at == len(request.trail.seconds) - 1
    return {**steps, WaitStep.STREAM.value: streamed} if last and streamed is not None else steps


def _steps(steps: Mapping[str, float], began_s: float, ended_s: float, parent_id: int) -> list[PlannedSpan]:
    """The steps in a container. The way there is taken to be as long as the way back."""
    ordered = [(step, steps[step]) for step in ORDER if step in steps]
    ways_s = max(0.0, ended_s - began_s - sum(took_s for _, took_s in ordered))
    return _in_a_row(ordered, began_s + ways_s / 2, parent_id)


def _in_a_row(steps: Sequence[tuple[str, float]], began_s: float, parent_id: int) -> list[PlannedSpan]:
    spans = []
    for step, took_s in steps:
        spans.append(PlannedSpan(step, PlannedKind.INTERNAL, None, parent_id, began_s, began_s + took_s, {}))
        began_s += took_s
    return spans


def _status(request: Passage) -> int | None:
    """The status of the last container's answer; None if it gave none."""
    return request.outcome.answer.status if isinstance(request.outcome, Served) else None


def _failure(request: Passage, status: int | None, code: str | None) -> str | None:
    """The conventions' `error.type` of a client's span: the status of an answer that is no success, else the code."""
    if status is not None and status >= 400:
        return str(status)
    return code if status is None or (request.stream is not None and request.stream.failed) else None


# -- attributes ----------------------------------------------------------------------------------------------------
def _attributes(request: Passage, code: str | None) -> Attributes:
    attributes = {**({} if _is_payload(request) else _http(request)), **_torpor(request)}
    if code is not None:
        attributes["error.type"] = code
    return attributes


def _http(request: Passage) -> Attributes:
    scope = request.scope
    attributes: Attributes = {
        "http.request.method": scope["method"],
        "http.route": route_of(scope),
        "url.path": scope["path"],
        "url.scheme": scope.get("scheme", "http"),
        "http.response.status_code": request.status,
        "http.request.body.size": request.request_bytes,
        "http.response.body.size": request.response_bytes,
        "aws.request_id": request.request_id,
    }
    for name, value in scope["headers"]:
        if name == b"user-agent":
            attributes["user_agent.original"] = value.decode("latin-1")
        elif name == b"host":
            host, _, port = value.decode("latin-1").rpartition(":")
            attributes["server.address"] = (host or port).strip("[]")
            if host and port.isdecimal():
                attributes["server.port"] = int(port)
    return attributes


def _torpor(request: Passage) -> Attributes:
    attributes: Attributes = {
        "faas.coldstart": is_cold(request.steps),
        "torpor.overhead": request.steps.get(OVERHEAD, 0.0),
    }
    name = request.home.endpoint if request.route is None else request.route.live.name
    attributes["torpor.transform_job" if _is_payload(request) else "torpor.endpoint"] = name
    if request.route is not None:
        attributes["torpor.variant"] = request.route.variant
        if request.route.target is not None:
            attributes["torpor.model"] = request.route.target
        if request.route.pool.variant.shadow:
            attributes["torpor.shadow"] = True
    if face := face_of(request.scope):
        attributes["torpor.face"] = face
    if request.request is not None and (inference_id := request.request.text(INFERENCE_ID)):
        attributes["torpor.inference_id"] = inference_id
    if isinstance(request.outcome, Served):
        attributes["torpor.instance"] = request.outcome.instance
        attributes |= _cache(request.outcome.answer.headers)
    return attributes


def _cache(headers: Headers) -> Attributes:
    """Whether the model was in memory; of a load, why it was not, and what it took."""
    attributes: Attributes = {}
    for name, value in headers:
        if name == MODEL_CACHE:
            attributes["torpor.model_cache"] = value.decode()
        elif name == COLD:
            cold = read(wire.ColdLoad, json.loads(value))
            attributes["torpor.cold.reason"] = cold["reason"]
            attributes["torpor.cold.bytes"] = cold["bytes"]
            attributes["torpor.cold.evicted"] = list(cold["victims"])
    return attributes
