"""The records of data capture, as SageMaker writes them: one JSON line for each captured request, and the files' keys.

The source of the forms is AWS's developer guide, "Capture data from real-time endpoint".
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from json.encoder import encode_basestring_ascii as _string
from typing import NamedTuple

from torpor_endpoint.core.resource_records import DataCapture

PIECE = 3 * 64 * 1024
"""The bytes, or characters, of a body that are encoded at a time. Pieces of three bytes join in base64."""

HEADS_MAX = 100
"""The most content types that an encoder remembers: callers choose them."""

UNKNOWN_TYPE = "application/octet-stream"
"""The observedContentType of a body whose sender gave none (RFC 9110, section 8.3)."""


class Encoding(StrEnum):
    """How `data` represents a body."""

    CSV = "CSV"
    JSON = "JSON"
    BASE64 = "BASE64"


class CapturedStream(StrEnum):
    """How an answer in parts ended."""

    COMPLETE = "Complete"
    FAILED = "Failed"
    CALLER_LEFT = "CallerLeft"


class CapturedBody(NamedTuple):
    """The body of a request or of an answer. The chunks are shared with whoever received them, not copied.

    `broken`: its end is missing, so that a text may end within a character, which is left out.
    """

    content_type: str
    chunks: Sequence[bytes]
    broken: bool = False


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
    model_version: str | None = None  # of its artifact, as the store names it
    stream: CapturedStream | None = None  # of an answer in parts
    cut: bool = False  # the answer had more parts than are captured
    model_digest: str | None = None  # the SHA-256 of its artifact, in hex
    choice: str | None = None  # why this model answers a request that named a group
    face: str | None = None  # the protocol by which it came; None for SageMaker's own


def encoding_of(content_type: str, capture: DataCapture) -> Encoding:
    """The encoding of a content type. Parameters such as `; charset=utf-8` and upper case do not matter."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in map(str.lower, capture.csv_types):
        return Encoding.CSV
    return Encoding.JSON if media_type in map(str.lower, capture.json_types) else Encoding.BASE64


class LineEncoder:
    """Writes the JSON lines of the requests of one configuration.

    It remembers what it wrote for a content type, and for the last second: most requests are alike.
    """

    def __init__(self, capture: DataCapture) -> None:
        self.capture = capture
        self._heads: dict[tuple[str, str], tuple[str, Encoding]] = {}
        self._second: int | None = None
        self._time = ""

    def line(self, request: CapturedRequest) -> Iterator[str]:
        """The line of a request, with its line feed, in pieces. At least one side is captured."""
        opening = '{"captureData":{"endpointInput":'
        if request.input is not None:
            yield opening
            yield from self._side("INPUT", request.input)
            opening = ',"endpointOutput":'
        elif request.output is not None:
            opening = '{"captureData":{"endpointOutput":'
        if request.output is not None:
            yield opening
            yield from self._side("OUTPUT", request.output)
        yield f'}},"eventMetadata":{self._metadata(request)},"eventVersion":"0"}}\n'

    def _side(self, mode: str, body: CapturedBody) -> Iterator[str]:
        head, encoding = self._heads.get((mode, body.content_type)) or self._head(mode, body.content_type)
        encoding, data = _data(body, encoding)
        yield head
        yield from data
        yield f'","encoding":"{encoding.value}"}}'

    def _head(self, mode: str, content_type: str) -> tuple[str, Encoding]:
        """The beginning of a side, up to its data, and the encoding of its data."""
        if len(self._heads) >= HEADS_MAX:
            self._heads.clear()
        head = f'{{"observedContentType":{_string(content_type)},"mode":"{mode}","data":"'
        self._heads[mode, content_type] = made = head, encoding_of(content_type, self.capture)
        return made

    def _metadata(self, request: CapturedRequest) -> str:
        if int(request.at_s) != self._second:
            self._second = int(request.at_s)
            self._time = datetime.fromtimestamp(self._second, UTC).isoformat()[:19] + "Z"
        custom, inference, target = request.custom_attributes, request.inference_id, request.target_model
        members = [f'"eventId":{_string(request.event_id)}']
        if custom is not None:
            members.append(f'"customAttributes":[{_string(custom)}]')
        if inference is not None:
            members.append(f'"inferenceId":{_string(inference)}')
        members.append(f'"inferenceTime":"{self._time}"')
        if target is not None:
            members.append(f'"torporTargetModel":{_string(target)}')  # Torpor's own: AWS has no field for it
        if request.model_version is not None:
            members.append(f'"torporModelVersion":{_string(request.model_version)}')  # Torpor's own, and so are these
        if request.model_digest is not None:
            members.append(f'"torporModelDigest":{_string(request.model_digest)}')
        if request.choice is not None:
            members.append(f'"torporChoice":{_string(request.choice)}')
        if request.face is not None:
            members.append(f'"torporFace":{_string(request.face)}')
        if request.stream is not None:
            members.append(f'"torporStream":"{request.stream.value}"')
        if request.cut:
            members.append('"torporOutputCut":true')
        return f"{{{','.join(members)}}}"


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


def _data(body: CapturedBody, encoding: Encoding) -> tuple[Encoding, Iterable[str]]:
    """The body as a JSON string's inside. A text that is not UTF-8 is encoded in base64, so that nothing is lost."""
    whole = body.chunks[0] if len(body.chunks) == 1 else b"".join(body.chunks)
    if encoding is not Encoding.BASE64:
        try:
            text = whole.decode() if not body.broken else whole[: _characters_end(whole)].decode()
        except UnicodeDecodeError:
            encoding = Encoding.BASE64
        else:
            if len(text) <= PIECE:
                return encoding, (_string(text)[1:-1],)
            return encoding, (_string(text[at : at + PIECE])[1:-1] for at in range(0, len(text), PIECE))
    return encoding, (b64encode(whole[at : at + PIECE]).decode() for at in range(0, len(whole), PIECE))


def _characters_end(text: bytes) -> int:
    """Where the last whole character of a text in UTF-8 ends, if the text ends within one; else the text's end."""
    for at in range(len(text) - 1, max(-1, len(text) - 4), -1):
        if text[at] & 0xC0 != 0x80:  # the first byte of the last character, which says how many there are
            size = 1 if text[at] < 0x80 else 2 if text[at] < 0xE0 else 3 if text[at] < 0xF0 else 4
            return len(text) if at + size <= len(text) else at
    return len(text)
