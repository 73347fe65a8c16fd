"""Writes the answers of the Open Inference Protocol: tensors as the instance sent them, and errors in its own form."""

import json
from functools import lru_cache
from typing import Any

from torpor_account.aws.wire.asgi import Headers, Response
from torpor_container.core.protocols.protocol_types import HEADER_SIZE, TENSORS
from torpor_endpoint.core.sending.machine import CONTENT_TYPE
from torpor_endpoint.faces.passage_calls import failure_of
from torpor_endpoint.runtime.face_notes import FaceNote

JSON_LENGTH = b"inference-header-content-length"
BINARY = b"application/octet-stream"
JSON = "application/json"


def answered(note: FaceNote, status: int, headers: Headers, body: bytes) -> tuple[int, Headers, bytes]:
    """The face's answer for the runtime's."""
    if not 200 <= status < 300:
        failure = failure_of(note.fault, status, body)
        kept = [header for header in headers if not header[0].startswith((CONTENT_TYPE, b"x-amzn-errortype"))]
        return failure.status, [*kept, (CONTENT_TYPE, JSON.encode())], error_body(failure.message)
    renamed: Headers = []
    for name, value in headers:
        renamed += typed(value) if name == CONTENT_TYPE else [(name, value)]
    return status, renamed, body


@lru_cache(maxsize=256)
def typed(content_type: bytes) -> Headers:
    """The headers that say of what type an answer is, and where its JSON ends."""
    text = content_type.decode("latin-1")
    if not text.startswith(TENSORS):
        return [(CONTENT_TYPE, content_type)]
    size = text.partition(f"{HEADER_SIZE}=")[2].partition(";")[0]
    if not size:
        return [(CONTENT_TYPE, JSON.encode())]
    return [(CONTENT_TYPE, BINARY), (JSON_LENGTH, size.encode("latin-1"))]


def error_body(message: str) -> bytes:
    return json.dumps({"error": message}).encode()


def in_json(document: Any, status: int = 200) -> Response:
    return Response(status, json.dumps(document).encode(), {"content-type": JSON})


def refused(message: str, status: int) -> Response:
    return in_json({"error": message}, status)
