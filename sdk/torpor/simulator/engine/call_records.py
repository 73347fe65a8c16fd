"""The records of a simulated variant: its requests, the models that they use, and the counters of both."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, NamedTuple

from torpor.workloads import Trace
from torpor.workloads.profile import ModelProfile
from torpor_container.core.turns import ModelQueue
from torpor_endpoint.core.sending.machine import Sending
from torpor_endpoint.core.traffic import Traffic

BATCH_MAX = 8_192
"""The most requests that are read from a trace, or handed to a listener, at once: enough for numpy to be worth its
cost, and few enough to stay in the processor's cache."""


# The outcome of a request. Outcomes are numbers, so that numpy can hold a column of them.
LOADED: Final = 0  # a cache miss: the request waited for its model to be loaded
FOUND: Final = 1  # a cache hit: the model was in memory
FAILED: Final = 2  # the model is larger than the memory or disk
HELD: Final = 4  # a flag beside the others: the request waited for an instance


class SimulatedCall:
    """One request. Times are virtual seconds; all of them are set once the request has ended."""

    __slots__ = (
        "arrived_s", "charged_s", "done_s", "model", "outcome", "predict_began_s", "predictor", "ready_s",
        "routed_s", "sending", "slot", "used_until_s",
    )  # fmt: skip

    slot: str  # of the instance that serves it
    routed_s: float  # when the request reached an instance; it was held until then
    ready_s: float  # when its model was in memory; it waited for the model until then
    predict_began_s: float  # when its prediction began; it waited for its turn until then
    done_s: float
    predictor: "Predictor"  # the latest one
    charged_s: float  # the time that its model was charged for this turn in advance
    # Only in a pipeline:
    sending: "Sending[Any]"  # its way through the containers
    used_until_s: float  # when the container with the models had answered it

    def __init__(self, model: str, arrived_s: float) -> None:
        self.model = model
        self.arrived_s = arrived_s
        self.outcome = LOADED

    @property
    def spent_s(self) -> list[float]:
        """Seconds in each container of a pipeline that it has passed, in their order."""
        trail = self.sending.trail
        return [] if trail is None else list(trail.seconds.values())

    @property
    def hit(self) -> bool:
        return self.outcome == FOUND

    @property
    def failed(self) -> bool:
        return self.outcome == FAILED


class Predictor:
    """What predicts: the times of one prediction, and the queue of the requests that wait for their turn. `workers` are
    processes of its own; 0 for the instance's threads. `further_s` is what each further request of a turn adds; None if
    requests share no turn."""

    __slots__ = ("further_s", "predict_delay_s", "predict_s", "queue")

    def __init__(
        self, predict_s: float, predict_delay_s: float, workers: int = 0, further_s: float | None = None
    ) -> None:
        self.further_s = further_s or 0.0
        self.predict_s = predict_s
        self.predict_delay_s = predict_delay_s
        self.queue = ModelQueue(further_s is not None, workers)

    @property
    def part_busy(self) -> float:
        """The part of a prediction's time in which it keeps a processor busy."""
        return self.predict_s / (self.predict_s + self.predict_delay_s) if self.predict_delay_s else 1.0


Brought = Callable[[bool], None]
"""Is told whether a model is in memory that was to be brought there."""


class InstanceModel(Predictor):
    """One model of one instance, from the first request for it until it is unloaded."""

    __slots__ = ("brought", "expected", "factor", "name", "profile", "since_s", "waiting")

    factor: float  # stretches the times of the present step, a download or a load
    since_s: float  # when that step began

    def __init__(self, name: str, profile: ModelProfile) -> None:
        self.further_s = profile.further_s or 0.0  # as a Predictor's, without a call
        self.predict_s = profile.predict_s
        self.predict_delay_s = profile.predict_delay_s
        self.queue = ModelQueue(profile.further_s is not None, profile.workers)
        self.name = name
        self.profile = profile
        self.expected = False  # True: the keep-alive loads it before any request
        self.waiting: list[SimulatedCall] = []
        self.brought: list[Brought] | None = None  # who has the instance load it, and is no request


def call_batches(trace: Trace) -> Iterator[tuple[list[float], Iterator[str]]]:
    """The moments and the models of the requests, in batches of at most BATCH_MAX."""
    for chunk in trace.chunks():
        name_of = trace.names.__getitem__
        for first in range(0, len(chunk), BATCH_MAX):
            times_s = chunk.times_s[first : first + BATCH_MAX].tolist()
            numbers: list[int] = chunk.models[first : first + BATCH_MAX].tolist()
            yield times_s, map(name_of, numbers)


class CallColumns(NamedTuple):
    """Ended requests, one list for each field."""

    models: list[str]
    arrived_s: list[float]
    ready_s: list[float]
    done_s: list[float]
    outcomes: bytes  # LOADED, FOUND or FAILED, plus HELD


def call_columns(calls: list[SimulatedCall]) -> CallColumns:
    """The columns of some ended requests. This function is in this module because the module is compiled: compiled code
    reads the fields of its own classes directly."""
    return CallColumns(
        [call.model for call in calls],
        [call.arrived_s for call in calls],
        [call.ready_s for call in calls],
        [call.done_s for call in calls],
        bytes([call.outcome | HELD if call.routed_s > call.arrived_s else call.outcome for call in calls]),
    )


def routed_times(calls: list[SimulatedCall]) -> list[float]:
    """When each request reached an instance."""
    return [call.routed_s for call in calls]


def passed_rows(calls: list[SimulatedCall]) -> list[list[float]]:
    """The seconds of each request of a pipeline in each container that it has passed."""
    return [call.spent_s for call in calls]


@dataclass(slots=True)
class VariantCounts:
    """The counters of all instances of one variant."""

    loads: int = 0
    load_s: float = 0.0
    downloads: int = 0
    unloads: int = 0
    wakes: int = 0
    dropped: int = 0  # copies that a shadow variant did not get: too many were in flight
    entries: int = 0  # of models that came from memory onto a device
    throttled: int = 0  # requests beyond a serverless variant's MaxConcurrency

    def loaded(self, took_s: float, now_s: float) -> None:
        """A load that took so long is over."""
        self.load_s += took_s


@dataclass(slots=True)
class CountsApart(VariantCounts):
    """Those of instances that are played apart, whose loads end in any order."""

    _ended: list[tuple[float, float]] = field(default_factory=list)
    """When each load ended that is not counted yet, and what it took."""

    def loaded(self, took_s: float, now_s: float) -> None:
        self._ended.append((now_s, took_s))

    def count_loads(self) -> None:
        """Add up what the loads took, in the order in which they ended: the sum is the same to the last bit."""
        self._ended.sort()
        for _, took_s in self._ended:
            self.load_s += took_s
        self._ended.clear()


class VariantCalls:
    """The traffic of one variant, and its ended requests that were not passed on yet."""

    __slots__ = ("done", "traffic")

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.done: list[SimulatedCall] = []  # in the order in which they ended

    def ended(self, call: SimulatedCall) -> None:
        self.traffic.went(call.done_s)
        self.done.append(call)

    def turned_away(self, call: SimulatedCall, counts: VariantCounts, dropped: bool) -> None:
        """A request beyond the most in flight fails at once, and no instance gets it. A copy that is dropped is none
        of the variant's requests."""
        if dropped:
            counts.dropped += 1
            return
        counts.throttled += 1
        call.outcome = FAILED
        call.routed_s = call.ready_s = call.done_s = call.arrived_s
        self.done.append(call)


class CallsApart(VariantCalls):
    """Those of instances that are played apart, which end in any order: nobody looks at their traffic."""

    __slots__ = ()

    def ended(self, call: SimulatedCall) -> None:
        self.done.append(call)

    def until(self, end_s: float, since: int) -> int:
        """The place of the first ended request after this time, from the place `since` on. They are in order."""
        return bisect_right(self.done, end_s, since, key=_end_s)

    def sort(self) -> None:
        """Put the ended requests into the order in which they ended."""
        self.done.sort(key=_end_s)


_end_s: Final = attrgetter("done_s")


class QueuedCalls(VariantCalls):
    """Those of an asynchronous variant. `freed` is called when a request has ended: another one may be sent."""

    __slots__ = ("_freed",)

    def __init__(self, freed: Callable[[], None]) -> None:
        super().__init__()
        self._freed = freed

    def ended(self, call: SimulatedCall) -> None:
        super().ended(call)
        self._freed()
