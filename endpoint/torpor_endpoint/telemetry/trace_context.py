"""W3C trace context: where a request stands in a distributed trace, read from its headers and written for containers.

Pure: no I/O, no clock, no randomness; the caller decides what is sampled and gives the ids. Source: W3C Trace Context
(Level 2) and W3C Baggage. A header that breaks its rules is dropped, as the standard says, and fails no request.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

Header = tuple[bytes, bytes]
"""A header's name, in lower case, and its value."""

TRACEPARENT, TRACESTATE, BAGGAGE = b"traceparent", b"tracestate", b"baggage"
NAMES = frozenset({TRACEPARENT, TRACESTATE, BAGGAGE})

STATE_MAX_BYTES = 512
"""A longer `tracestate` is not passed on. The standard: "Vendors SHOULD propagate at least 512 characters"."""
BAGGAGE_MAX_BYTES = 2048
"""A longer `baggage` is not passed on: a script's process takes 8 KiB of further headers in all."""

SAMPLED = 0x01
RANDOM = 0x02
"""The flag of trace ids that are random (Level 2). The caller's is kept."""

_PARENT = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?").fullmatch
_PRINTABLE = re.compile(rb"[\t -~]*").fullmatch
_INVALID_VERSION = b"ff"
_VERSION = b"00"


class ParentSpan(NamedTuple):
    """The caller's span, as its headers say."""

    trace_id: int
    span_id: int
    flags: int
    state: bytes = b""
    """Its `tracestate`; empty if there is none to pass on."""

    @property
    def sampled(self) -> bool:
        return bool(self.flags & SAMPLED)


@dataclass(slots=True)
class RequestTrace:
    """One request's place in its trace. It makes the headers for each container that the request passes.

    A request whose spans are recorded has one for each container, which finds its id in its `traceparent`.
    """

    trace_id: int
    """0 for a request that is in no trace: it has baggage alone."""
    span_id: int
    """The request's own span. Where none is recorded by this endpoint, the one that containers are told."""
    flags: int
    parent_id: int | None
    state: bytes
    baggage: bytes
    new_id: Callable[[], int]
    """Gives the ids of further spans: random numbers of 64 bits that are not 0."""
    recorded: bool = True
    """Whether this endpoint sends the request's spans."""
    legs: dict[int, int] = field(default_factory=dict)
    """The ids of the containers' spans, by their place in the path."""

    def headers(self, step: int) -> list[Header]:
        """The headers for the container at this place of the path. A second try has those of the first."""
        headers: list[Header] = []
        span_id = self.span_id
        if self.recorded:
            span_id = self.legs.get(step) or self.legs.setdefault(step, self.new_id())
        if self.trace_id:
            headers.append((TRACEPARENT, f"00-{self.trace_id:032x}-{span_id:016x}-{self.flags:02x}".encode()))
        if self.state:
            headers.append((TRACESTATE, self.state))
        if self.baggage:
            headers.append((BAGGAGE, self.baggage))
        return headers

    def copy(self) -> "RequestTrace":
        """The place of a copy for a shadow variant: its span is a child of the request's."""
        span_id = self.new_id() if self.recorded else self.span_id
        return replace(self, span_id=span_id, parent_id=self.span_id, legs={})


def read(headers: Sequence[Header]) -> tuple[ParentSpan | None, bytes]:
    """The caller's span, None if it names none that is valid, and its baggage, as far as it is passed on."""
    known = [header for header in headers if header[0] in NAMES]
    if not known:  # as with most requests
        return None, b""
    parents, states, bags = [
        [value for key, value in known if key == name] for name in (TRACEPARENT, TRACESTATE, BAGGAGE)
    ]
    baggage = _bounded(bags, BAGGAGE_MAX_BYTES) if bags else b""
    parent = parent_of(parents[0]) if len(parents) == 1 else None
    if parent is not None and states:
        parent = parent._replace(state=_bounded(states, STATE_MAX_BYTES))
    return parent, baggage


def parent_of(value: bytes) -> ParentSpan | None:
    """The span of a `traceparent`; None for one that is not valid. Later versions may have more after the flags."""
    matched = _PARENT(value.strip())
    if matched is None:
        return None
    version, trace_id, span_id, flags, more = matched.groups()
    if version == _INVALID_VERSION or (version == _VERSION and more is not None):
        return None
    parent = ParentSpan(int(trace_id, 16), int(span_id, 16), int(flags, 16) & (SAMPLED | RANDOM))
    return parent if parent.trace_id and parent.span_id else None


def _bounded(values: Sequence[bytes], max_bytes: int) -> bytes:
    """The header's lines as one; empty if it is too long, or has what no header of text has."""
    value = b",".join([part for value in values if (part := value.strip())])
    return value if len(value) <= max_bytes and _PRINTABLE(value) else b""
