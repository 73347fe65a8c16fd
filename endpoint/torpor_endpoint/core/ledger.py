"""Decides which requests are cold starts, and sums requests and memory readings by the minute. It stores nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from math import ceil
from typing import NamedTuple, TypeVar

from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger_records import InvocationRecord, MemoryReading, WarmRequests

COLD_STEPS = frozenset(
    {WaitStep.HOLD, WaitStep.WAKE, WaitStep.QUEUE, WaitStep.DOWNLOAD, WaitStep.UNPACK, WaitStep.LOAD}
)
NOTICED_S = 0.0005
"""A step of at most this length does not count as a wait: a slow machine takes 0.2 ms to hand a request to a script."""
TOLERANCE_S = 0.001
"""The steps of a request add up to its wall time, within this tolerance."""

LOAD, PREDICT, STREAM = WaitStep.LOAD.value, WaitStep.PREDICT.value, WaitStep.STREAM.value
"""Plain strings: the lookup of an enumeration's member would take longer for each request."""

MINUTE_S = 60
ERROR_FROM = 400
MOMENTS_MAX, MOMENTS_AT_ONCE, MOMENT_DIGITS = 48, 8, 4
"""Of how many warm requests for a model in a minute the moment is kept; of how many that one report has; and with how
many digits each. A model that is called more often is hardly ever evicted, so that their order means less."""
SAGEMAKER_FACE = "sagemaker"
"""What stands for SageMaker's own protocol beside the others: a request by it has no face."""
UNKNOWN = "unknown"
"""The size of an instance whose life is not in the ledger."""


def is_cold(steps: Mapping[str, float]) -> bool:
    """Whether the request waited for something that a warm request has ready. `steps` are seconds by step."""
    if COLD_STEPS.isdisjoint(steps):  # most requests have no such step
        return False
    return any(took_s > NOTICED_S and step in COLD_STEPS for step, took_s in steps.items())


def adds_up(invocation: InvocationRecord) -> bool:
    """Whether the steps add up to the wall time."""
    return abs(sum(invocation.steps.values()) - invocation.total_s) <= TOLERANCE_S


class UseKey(NamedTuple):
    """The key of a sum. `size` is the instance's size; "" for requests that never reached an instance."""

    minute_s: int
    endpoint: str
    variant: str
    model: str
    size: str


class FaceKey(NamedTuple):
    """The key of a sum over what came to a variant by another protocol than SageMaker's, its `face`."""

    minute_s: int
    endpoint: str
    variant: str
    face: str


@dataclass(slots=True)
class FaceSums:
    """Sums over requests that came by one face."""

    requests: int = 0
    cold: int = 0
    errors: int = 0
    total_s: float = 0.0
    busy_s: float = 0.0  # load and predict


@dataclass(slots=True)
class Sums:
    """Sums over requests. The milliseconds of each request are rounded up, as AWS bills serverless inference."""

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
    measured: int = 0  # predictions whose effort was measured; `work_s` and `delay_s` are theirs
    work_s: float = 0.0
    delay_s: float = 0.0
    copies: int = 0  # requests that a shadow variant got
    fetches: int = 0  # of artifacts from the store, each for one load; `fetched_bytes` are theirs
    fetched_bytes: int = 0

    @property
    def busy_s(self) -> float:
        """Seconds of processing. A load counts once for each request that waited for it."""
        return self.load_s + self.predict_s

    @property
    def moved_bytes(self) -> int:
        return self.request_bytes + self.response_bytes

    def add(self, invocation: InvocationRecord, cold: bool) -> None:
        load_s = invocation.steps.get(LOAD, 0.0)
        predict_s = invocation.steps.get(PREDICT, 0.0) + invocation.steps.get(STREAM, 0.0)
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
        self.copies += invocation.shadow
        if invocation.cold is not None and (fetched_bytes := invocation.cold.get("fetched_bytes", 0)):
            self.fetches += 1
            self.fetched_bytes += fetched_bytes

    def add_warm(self, warm: WarmRequests) -> None:
        """Add many warm requests at once."""
        predict_ms = sum(map(milliseconds, warm.predicts_s))
        self.requests += len(warm.totals_s)
        self.total_s += sum(warm.totals_s)
        self.predict_s += sum(warm.predicts_s)
        self.busy_ms += predict_ms
        self.predict_ms += predict_ms
        self.request_bytes += warm.request_bytes
        self.response_bytes += warm.response_bytes
        self.copies += len(warm.totals_s) * warm.shadow


class ContainerKey(NamedTuple):
    """The key of a sum over one container of a pipeline. `position` is the container's place in it, from 0."""

    minute_s: int
    endpoint: str
    variant: str
    model: str
    position: int
    container: str


@dataclass(slots=True)
class ContainerSums:
    """Sums of the requests that one container of a pipeline got, and of the warm and successful ones among them."""

    requests: int = 0
    total_s: float = 0.0
    warm: int = 0
    warm_s: float = 0.0

    def add(self, requests: int, seconds: float, warm: bool) -> None:
        """Add requests that spent these seconds together in the container."""
        self.requests += requests
        self.total_s += seconds
        if warm:
            self.warm += requests
            self.warm_s += seconds


class SpanKey(NamedTuple):
    """The key of a span of warm requests, over instances of all sizes."""

    minute_s: int
    endpoint: str
    variant: str
    model: str


class Span(NamedTuple):
    """The arrivals of the first and the last of some requests, in epoch seconds, the seconds of their minute in which
    any arrived (`arrival_seconds`), and the moments of some of them (`arrival_moments`). So a minute's quiet times are
    known, and the order of requests for models that are called seldom, in a row that does not grow."""

    first_s: float
    last_s: float
    seconds: int = 0  # 0 is not known
    moments: str = ""  # of the first MOMENTS_MAX that were told

    def __or__(self, other: "Span") -> "Span":
        """The span that covers both."""
        seconds = self.seconds | other.seconds
        moments = (self.moments + other.moments)[: MOMENTS_MAX * MOMENT_DIGITS]
        return Span(min(self.first_s, other.first_s), max(self.last_s, other.last_s), seconds, moments)


class MemoryKey(NamedTuple):
    """The key of a sum of memory readings."""

    minute_s: int
    endpoint: str
    variant: str
    size: str
    budget_bytes: int
    container: str = ""


@dataclass(slots=True)
class MemorySums:
    """Sums over readings of the memory that instances use beside their models, and of what answers in containers of one
    model."""

    looks: int = 0
    own_bytes: int = 0
    short: int = 0  # readings at moments without room for a model
    short_own_bytes: int = 0
    told: int = 0  # readings that say how many workers the container's one model has; `workers` are theirs
    workers: int = 0

    def add(self, reading: MemoryReading) -> None:
        self.looks += 1
        if reading.workers is not None:
            self.told += 1
            self.workers += reading.workers
        self.own_bytes += reading.own_bytes
        self.short += reading.short
        self.short_own_bytes += reading.own_bytes * reading.short


S = TypeVar("S", Sums, ContainerSums, FaceSums, MemorySums)


def add_sums(into: S, others: S) -> None:
    """Add other sums of the same key."""
    for one in fields(into):
        setattr(into, one.name, getattr(into, one.name) + getattr(others, one.name))


def minute_of(at_s: float) -> int:
    """The beginning of the minute of this moment, in epoch seconds."""
    return int(at_s // MINUTE_S) * MINUTE_S


def arrival_seconds(arrivals_s: Iterable[float]) -> int:
    """The seconds of a minute in which requests arrived: bit 0 stands for the first one, bit 59 for the last."""
    return sum([1 << second for second in {second % MINUTE_S for second in set(map(int, arrivals_s))}])


def arrival_moments(arrivals_s: Iterable[float]) -> str:
    """The milliseconds of their minute at which requests arrived, of the last MOMENTS_AT_ONCE, each in four hexadecimal
    digits."""
    return "".join([f"{int(at_s * 1000) % 60_000:04x}" for at_s in sorted(arrivals_s)[-MOMENTS_AT_ONCE:]])


def moments_ms(moments: str) -> list[int]:
    """What `arrival_moments` wrote."""
    return [int(moments[at : at + MOMENT_DIGITS], 16) for at in range(0, len(moments), MOMENT_DIGITS)]


def milliseconds(seconds: float) -> int:
    """Whole milliseconds, rounded up. A floating-point error on a whole number does not make it one more."""
    return ceil(seconds * 1000 - 1e-6)
