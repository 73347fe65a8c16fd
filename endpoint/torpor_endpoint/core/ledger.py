"""What a request waited for, and how requests add up by the minute. It keeps nothing and reads no clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger_records import InvocationRecord, MemoryReading, WarmRequests

COLD_STEPS = frozenset(
    {WaitStep.HOLD, WaitStep.WAKE, WaitStep.QUEUE, WaitStep.DOWNLOAD, WaitStep.UNPACK, WaitStep.LOAD}
)
NOTICED_S = 0.0001
"""What took no longer was not waited for."""
TOLERANCE_S = 0.001
"""The steps of a request add up to its wall time, give or take this."""

LOAD, PREDICT = (
    WaitStep.LOAD.value,
    WaitStep.PREDICT.value,
)  # plain text: a member of an enumeration is looked up each time

MINUTE_S = 60
ERROR_FROM = 400
UNKNOWN = "unknown"
"""The size of an instance whose life the ledger was not told of."""


def is_cold(steps: Mapping[str, float]) -> bool:
    """Whether the request waited for anything that a warm one has ready."""
    if COLD_STEPS.isdisjoint(steps):  # most have nothing of the kind
        return False
    return any(took_s > NOTICED_S and step in COLD_STEPS for step, took_s in steps.items())


def adds_up(invocation: InvocationRecord) -> bool:
    return abs(sum(invocation.steps.values()) - invocation.total_s) <= TOLERANCE_S


class UseKind(NamedTuple):
    """What is added up together. `size` is the instance's; "" for requests that never reached one."""

    minute_s: int
    endpoint: str
    variant: str
    model: str
    size: str


@dataclass(slots=True)
class Sums:
    """Requests added up. The milliseconds are each request's own, rounded up, as serverless inference is billed."""

    requests: int = 0
    cold: int = 0
    errors: int = 0
    total_s: float = 0.0
    load_s: float = 0.0
    predict_s: float = 0.0
    busy_ms: int = 0  # load and predict
    predict_ms: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    measured: int = 0  # predictions whose efforts are these:
    work_s: float = 0.0
    delay_s: float = 0.0

    @property
    def busy_s(self) -> float:
        """Seconds of processing. A load counts for every request that waited for it."""
        return self.load_s + self.predict_s

    @property
    def moved_bytes(self) -> int:
        return self.request_bytes + self.response_bytes

    def add(self, invocation: InvocationRecord, cold: bool) -> None:
        load_s = invocation.steps.get(LOAD, 0.0)
        predict_s = invocation.steps.get(PREDICT, 0.0)
        self.requests += 1
        self.cold += cold
        self.errors += invocation.status >= ERROR_FROM
        self.total_s += invocation.total_s
        self.load_s += load_s
        self.predict_s += predict_s
        self.busy_ms += milliseconds(load_s + predict_s)
        self.predict_ms += milliseconds(predict_s)
        self.request_bytes += invocation.request_bytes
        self.response_bytes += invocation.response_bytes
        if invocation.effort is not None:
            self.measured += 1
            self.work_s += invocation.effort["work_s"]
            self.delay_s += invocation.effort["delay_s"]

    def add_warm(self, warm: WarmRequests) -> None:
        """The same of many at once."""
        predict_ms = sum(map(milliseconds, warm.predicts_s))
        self.requests += len(warm.totals_s)
        self.total_s += sum(warm.totals_s)
        self.predict_s += sum(warm.predicts_s)
        self.busy_ms += predict_ms
        self.predict_ms += predict_ms
        self.request_bytes += warm.request_bytes
        self.response_bytes += warm.response_bytes


class WarmSpan(NamedTuple):
    """What the span of warm requests is kept for, whatever the sizes of the instances."""

    minute_s: int
    endpoint: str
    variant: str
    model: str


class Span(NamedTuple):
    """When the first of some requests came, and the last: epoch seconds."""

    first_s: float
    last_s: float

    def __or__(self, other: "Span") -> "Span":
        """Of both together."""
        return Span(min(self.first_s, other.first_s), max(self.last_s, other.last_s))


class Room(NamedTuple):
    """What looks at instances' memory are added up by."""

    minute_s: int
    endpoint: str
    variant: str
    size: str
    budget_bytes: int


@dataclass(slots=True)
class Looks:
    """Looks at what instances take of their memory beside their models, added up."""

    looks: int = 0
    own_bytes: int = 0
    short: int = 0  # looks at moments when there was no room
    short_own_bytes: int = 0

    def add(self, look: MemoryReading) -> None:
        self.looks += 1
        self.own_bytes += look.own_bytes
        self.short += look.short
        self.short_own_bytes += look.own_bytes * look.short


def minute_of(at_s: float) -> int:
    """When the minute began that this moment is in."""
    return int(at_s // MINUTE_S) * MINUTE_S


def milliseconds(seconds: float) -> int:
    """Rounded up; what is a whole number but for the floating point stays it."""
    return ceil(seconds * 1000 - 1e-6)
