"""The records of data capture, as SageMaker writes them: one JSON line for each captured request, and the files' keys.

The source of the forms is AWS's developer guide, "Capture data from real-time endpoint".
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from torpor_endpoint.core.records import DataCapture

PIECE = 3 * 64 * 1024
"""The bytes, or characters, of a body that are encoded at a time. Pieces of three bytes join in base64."""

UNKNOWN_TYPE = "application/octet-stream"
"""The observedContentType of a body whose sender gave none (RFC 9110, section 8.3)."""


class Encoding(StrEnum):
    """How `data` represents a body."""

    CSV = "CSV"
    JSON = "JSON"
    BASE64 = "BASE64"


class CapturedBody(NamedTuple):
    """The body of a request or of an answer. The chunks are shared with whoever received them, not copied."""

    content_type: str
    chunks: Sequence[bytes]

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.chunks))


class CapturedRequest(NamedTuple):
    """What one line is made of. A side that is not captured is None."""

    capture: DataCapture
    endpoint: str
    variant: str
    event_id: str
    at_s: float  # epoch seconds
    input: CapturedBody | None
    output: CapturedBody | None
    custom_attributes: str | None = None
    inference_id: str | None = None
    target_model: str | None = None

    @property
    def size_bytes(self) -> int:
        """The bytes of the captured bodies."""
        return sum(body.size_bytes for body in (self.input, self.output) if body is not None)


def encoding_of(content_type: str, capture: DataCapture) -> Encoding:
    """The encoding of a content type. Parameters such as `; charset=utf-8` and upper case do not matter."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in map(str.lower, capture.csv_types):
        return Encoding.CSV
    return Encoding.JSON if media_type in map(str.lower, capture.json_types) else Encoding.BASE64


def line(request: CapturedRequest) -> Iterator[str]:
    """The JSON line of a captured request, with its line feed, in pieces. At least one side is captured."""
    sides = (("endpointInput", "INPUT", request.input), ("endpointOutput", "OUTPUT", request.output))
    opening = '{"captureData":{'
    for name, mode, body in sides:
        if body is not None:
            yield f'{opening}"{name}":'
            yield from _side(mode, body, request.capture)
            opening = ","
    yield f'}},"eventMetadata":{_json(_metadata(request))},"eventVersion":"0"}}\n'


def key_prefix(request: CapturedRequest) -> tuple[str, str]:
    """The bucket of a request's file, and its key up to the hour: `prefix/endpoint/variant/yyyy/mm/dd/hh/`."""
    bucket, _, prefix = request.capture.destination.removeprefix("s3://").partition("/")
    hour = f"{datetime.fromtimestamp(request.at_s, UTC):%Y/%m/%d/%H}"
    parts = (prefix.rstrip("/"), request.endpoint, request.variant, hour)
    return bucket, "".join(f"{part}/" for part in parts if part)


def file_name(at_s: float, unique: str) -> str:
    """`MM-SS-mmm-uuid.jsonl`: minute, second and millisecond of the file's first record."""
    at = datetime.fromtimestamp(at_s, UTC)
    return f"{at:%M-%S}-{at.microsecond // 1000:03}-{unique}.jsonl"


def _side(mode: str, body: CapturedBody, capture: DataCapture) -> Iterator[str]:
    encoding, data = _data(body, encoding_of(body.content_type, capture))
    yield f'{{"observedContentType":{_json(body.content_type)},"mode":"{mode}","data":"'
    yield from data
    yield f'","encoding":"{encoding.value}"}}'


def _data(body: CapturedBody, encoding: Encoding) -> tuple[Encoding, Iterator[str]]:
    """The body as a JSON string's inside. A text that is not UTF-8 is encoded in base64, so that nothing is lost."""
    whole = body.chunks[0] if len(body.chunks) == 1 else b"".join(body.chunks)
    if encoding is not Encoding.BASE64:
        try:
            text = whole.decode()
        except UnicodeDecodeError:
            encoding = Encoding.BASE64
        else:
            return encoding, (_json(text[at : at + PIECE])[1:-1] for at in range(0, len(text), PIECE))
    return encoding, (b64encode(whole[at : at + PIECE]).decode() for at in range(0, len(whole), PIECE))


def _metadata(request: CapturedRequest) -> dict[str, Any]:
    metadata: dict[str, Any] = {"eventId": request.event_id}
    if request.custom_attributes is not None:
        metadata["customAttributes"] = [request.custom_attributes]
    if request.inference_id is not None:
        metadata["inferenceId"] = request.inference_id
    metadata["inferenceTime"] = datetime.fromtimestamp(int(request.at_s), UTC).isoformat()[:19] + "Z"
    if request.target_model is not None:
        metadata["torporTargetModel"] = request.target_model  # Torpor's own: AWS has no field for it
    return metadata


_encoder = json.JSONEncoder(separators=(",", ":"))


def _json(value: object) -> str:
    return _encoder.encode(value)
