"""Writes the answers of OpenAI's API: errors in its form, what a container says in that form unchanged, and lists.

https://platform.openai.com/docs/guides/error-codes: an error has a message, a type, a parameter and a code.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from torpor_account.aws.wire.asgi import Headers, Response
from torpor_endpoint.core.sending.machine import CONTENT_TYPE
from torpor_endpoint.faces.passage_calls import failure_of
from torpor_endpoint.runtime.face_notes import FaceNote

JSON = "application/json"
NO_SUCH_MODEL = "model_not_found"
TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
"""Of each status; all others are of the request, or of the server."""
EVENTS = b"text/event-stream"


def answered(note: FaceNote, status: int, headers: Headers, body: bytes) -> tuple[int, Headers, bytes]:
    """The face's answer for the runtime's."""
    if 200 <= status < 300:
        return status, headers, body
    kept = [header for header in headers if not header[0].startswith((CONTENT_TYPE, b"x-amzn-errortype"))]
    typed = [*kept, (CONTENT_TYPE, JSON.encode())]
    failure = failure_of(note.fault, status, body)
    original = None if note.fault is None else note.fault.original
    if original is not None and _is_error(original[1]):
        return failure.status, typed, original[1].encode()
    if failure.status == 415:
        text = f"The model does not answer this operation: {failure.message}"
        return 400, typed, error_body(400, text)
    code = NO_SUCH_MODEL if failure.status == 404 else None
    return failure.status, typed, error_body(failure.status, failure.message, code=code)


def error_body(status: int, message: str, param: str | None = None, code: str | None = None) -> bytes:
    kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}}).encode()


def refused(status: int, message: str, param: str | None = None, code: str | None = None) -> Response:
    return Response(status, error_body(status, message, param, code), {"content-type": JSON})


def listed(models: Mapping[str, bool]) -> Response:
    """The models, and of each whether it is in memory."""
    return _in_json({"object": "list", "data": [_entry(name, loaded) for name, loaded in models.items()]})


def retrieved(name: str, loaded: bool) -> Response:
    return _in_json(_entry(name, loaded))


def _entry(name: str, loaded: bool) -> dict[str, Any]:
    """`status` is that of llama.cpp's server with many models; when a model was made, nobody asks the store for."""
    status = {"value": "loaded" if loaded else "unloaded"}
    return {"id": name, "object": "model", "created": 0, "owned_by": "torpor", "status": status}


def _in_json(document: Any) -> Response:
    return Response(200, json.dumps(document).encode(), {"content-type": JSON})


def _is_error(text: str) -> bool:
    """Whether a container answers in the API's form already."""
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(members, dict) and isinstance(members.get("error"), dict)


class ServerSentParts:
    """The parts of a stream as the container sends them. Server-sent events that break off end with an error, as the
    API's do; any other answer that breaks off is not ended."""

    def typed(self, content_type: bytes | None) -> Headers:
        return [] if content_type is None else [(CONTENT_TYPE, content_type)]

    def encoded(self, parts: Sequence[bytes]) -> bytes:
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def failure(self, content_type: bytes | None, message: str, code: str) -> bytes | None:
        if content_type is None or not content_type.lower().startswith(EVENTS):
            return None
        return b"data: " + error_body(500, message, code=code) + b"\n\n"
