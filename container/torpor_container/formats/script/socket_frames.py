"""Encodes and decodes the frames between an instance and a script's process: lengths, a JSON head, a body.

The instance sends INVOKE {content_type, accept, custom_attributes, headers} + body; `headers` is JSON of others, and
`parameters` asks for what the script advises for transform jobs. The script's process first says LOADED, or FAILED
{type} + message; then, for each INVOKE, REPLY {content_type, custom_attributes, headers} + body, or ERROR {type} +
message. LOADED and REPLY have the effort too, and all but LOADED may have an HTTP status.

An INVOKE with `stream` may be answered in parts instead: HEAD {content_type}, then PART + body for each part, then END,
or ERROR if the script fails between two parts. The script's process makes at most WINDOW parts that the instance has
not taken: MORE {parts} allows as many more. STOP asks it to end the stream, because nobody takes the rest. A MORE or
STOP that comes after the END has no effect.
"""

import json
import struct
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf

from torpor_container.measuring.effort import Effort

PREFIX = struct.Struct(">IQ")
HEAD_MAX = 64 * 1024
BODY_MAX = 1024 * 1024 * 1024
"""The largest body that AWS sends any container: that of an asynchronous request."""


class FrameKind(StrEnum):
    LOADED = "loaded"
    FAILED = "failed"
    INVOKE = "invoke"
    REPLY = "reply"
    ERROR = "error"
    HEAD = "head"
    PART = "part"
    END = "end"
    MORE = "more"
    STOP = "stop"


EFFORT = "effort"
HEADERS = "headers"
PARAMETERS = "parameters"
PARTS = "parts"
STREAM = "stream"
STATUS = "status"
STATUSES = range(200, 600)
WINDOW = 16
"""How many parts a script makes before the instance has taken the first of them."""


class BadFrame(Exception):
    """The other side does not speak this protocol."""


@dataclass(frozen=True, slots=True)
class ScriptFrame:
    kind: FrameKind
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def with_effort(frame: ScriptFrame, effort: Effort) -> ScriptFrame:
    """The same frame, with the effort that led to it."""
    return replace(frame, fields={**frame.fields, EFFORT: " ".join(map(repr, effort))})


def effort_of(frame: ScriptFrame) -> Effort:
    """Raises BadFrame."""
    try:
        effort = Effort(*map(float, frame.fields[EFFORT].split()))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadFrame(f"a frame {frame.kind} without its effort") from error
    if not all(0 <= part_s < inf for part_s in effort):  # also False for nan
        raise BadFrame(f"a frame {frame.kind} with an impossible effort")
    return effort


def status_of(frame: ScriptFrame) -> int | None:
    """The status; None if the frame has none. Raises BadFrame."""
    text = frame.fields.get(STATUS)
    if text is None:
        return None
    try:
        return STATUSES[STATUSES.index(int(text))]
    except (TypeError, ValueError) as error:
        raise BadFrame(f"a frame {frame.kind} with an invalid status") from error


_PART_HEAD = json.dumps({"kind": FrameKind.PART}).encode()
"""The head of each PART: streams have many, so it is neither written nor read as JSON each time."""


def part(body: bytes) -> bytes:
    """The bytes of a PART. `body` is within `invocation.PART_MAX_BYTES`."""
    return PREFIX.pack(len(_PART_HEAD), len(body)) + _PART_HEAD + body


def more(parts: int) -> bytes:
    """The bytes of a MORE."""
    return encode(ScriptFrame(FrameKind.MORE, {PARTS: str(parts)}))


def parts_of(frame: ScriptFrame) -> int:
    """How many parts a MORE allows. Raises BadFrame."""
    try:
        return int(frame.fields[PARTS])
    except (KeyError, TypeError, ValueError) as error:
        raise BadFrame(f"a frame {frame.kind} without its number of parts") from error


def encode(frame: ScriptFrame) -> bytes:
    """The bytes of a frame. Raises BadFrame for one that is too large, which the other side would refuse."""
    head = json.dumps({"kind": frame.kind, **frame.fields}).encode()
    _check(len(head), len(frame.body))
    return PREFIX.pack(len(head), len(frame.body)) + head + frame.body


def sizes(prefix: bytes) -> tuple[int, int]:
    """The lengths of the head and body that follow. Raises BadFrame for impossible ones."""
    head, body = PREFIX.unpack(prefix)
    _check(head, body)
    return head, body


def _check(head: int, body: int) -> None:
    if head > HEAD_MAX or body > BODY_MAX:
        raise BadFrame(f"a frame with a head of {head} bytes and a body of {body}")


def decode(head: bytes, body: bytes) -> ScriptFrame:
    """Raises BadFrame."""
    if head == _PART_HEAD:
        return ScriptFrame(FrameKind.PART, {}, body)
    try:
        fields = json.loads(head)
        return ScriptFrame(FrameKind(fields.pop("kind")), fields, body)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadFrame(f"a frame whose head is {head[:80]!r}") from error


class FrameBuffer:
    """Splits what comes into frames. It keeps the beginning of a frame until the rest has come."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._bytes = 0
        self._needed = PREFIX.size
        """The length of the next frame, as far as it is known: before so much is there, nothing is joined."""

    def feed(self, data: bytes) -> list[ScriptFrame]:
        """The frames that are whole now, in their order. Raises BadFrame."""
        self._pieces.append(data)
        self._bytes += len(data)
        if self._bytes < self._needed:
            return []
        if len(self._pieces) > 1:
            data = b"".join(self._pieces)
        found: list[ScriptFrame] = []
        at, size = 0, len(data)
        self._needed = PREFIX.size
        while size - at >= PREFIX.size:
            head_bytes, body_bytes = PREFIX.unpack_from(data, at)
            _check(head_bytes, body_bytes)
            head_at = at + PREFIX.size
            body_at = head_at + head_bytes
            if body_at + body_bytes > size:
                self._needed = body_at + body_bytes - at
                break
            at = body_at + body_bytes
            found.append(decode(data[head_at:body_at], data[body_at:at]))
        self._pieces, self._bytes = ([data[at:]] if at < size else []), size - at
        return found
