"""Records what a request waited for, step by step, for `Server-Timing`: the steps add up to the wall time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

from torpor_container.measuring.effort import Effort
from torpor_container.wire import ColdLoad, FetchedFrom, WaitStep

Clock = Callable[[], float]

OVERHEAD = WaitStep.OVERHEAD.value


class StepSpan:
    """The time of one step, which is what a `with` block takes; `end_s` is infinite while it goes on."""

    __slots__ = ("_clock", "end_s", "start_s", "step")

    def __init__(self, step: WaitStep, clock: Clock) -> None:
        self.step, self.start_s, self.end_s = step, clock(), inf
        self._clock = clock

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None:
        self.end_s = self._clock()


@dataclass
class LoadSpans:
    """The spans of one load. Each request that waited for it takes the part for which it waited."""

    clock: Clock
    spans: list[StepSpan] = field(default_factory=list)
    efforts: dict[str, Effort] = field(default_factory=dict)  # what was measured where it happened
    victims: list[str] = field(default_factory=list)  # the models that left memory for it
    own_bytes: int = 0  # memory that no model explains, when this one asked for room
    fetched_bytes: int = 0  # of the artifact in the store, if it was fetched
    fetched_from: FetchedFrom | None = None  # known where instances share artifacts
    cold: ColdLoad | None = None  # what the load took, once it is done

    def report(self, leads: bool) -> ColdLoad | None:
        """What one of its requests reports of the load. Only the request that `leads` reports what was fetched, so that
        the ledger counts it once. Each other one reports that it joined."""
        if leads or self.cold is None:
            return self.cold
        others = self.cold.copy()
        others.pop("fetched_bytes", None)
        others.pop("fetched_from", None)
        others["joined"] = True
        return others

    def came_from(self, origin: FetchedFrom | None) -> str:
        """Note from where the artifact came. Returns a sentence on it for a person."""
        self.fetched_from = origin
        return "from another instance" if origin is FetchedFrom.NEIGHBOUR else ""

    def step(self, step: WaitStep) -> StepSpan:
        span = StepSpan(step, self.clock)
        self.spans.append(span)
        return span


class Timing:
    """One request's steps, in seconds, and whether its model was in memory (`hit`; None where that means nothing)."""

    def __init__(self, clock: Clock) -> None:
        self.hit: bool | None = None
        self.cold: ColdLoad | None = None
        self.effort: Effort | None = None  # of its prediction, if that was measured
        self.version = ""  # of the artifact that answers, as its store names it; "" if unknown or not wanted
        self.digest = ""  # the SHA-256 of the same artifact; "" if unknown or not wanted
        self._clock = clock
        self._began_s = clock()
        self.steps: dict[WaitStep, float] = {}

    @property
    def led(self) -> bool:
        """Whether the request led a load, and so waited for all of it."""
        return self.cold is not None and "joined" not in self.cold

    def add(self, step: WaitStep, took_s: float) -> None:
        self.steps[step] = self.steps.get(step, 0.0) + took_s

    @contextmanager
    def step(self, step: WaitStep) -> Iterator[None]:
        start_s = self._clock()
        try:
            yield
        finally:
            self.add(step, self._clock() - start_s)

    def laps(self) -> Callable[[WaitStep], float]:
        """Start a stopwatch. Each call adds the time since the last one to a step, and returns it."""
        last_s = self._clock()

        def lap(step: WaitStep) -> float:
            nonlocal last_s
            now_s = self._clock()
            took_s = now_s - last_s
            self.add(step, took_s)
            last_s = now_s
            return took_s

        return lap

    def waited_for(self, spans: LoadSpans, since_s: float) -> None:
        """Add the steps of a load from `since_s` on. The time that no span explains was spent in a queue."""
        now_s = self._clock()
        waited_s = now_s - since_s
        for span in spans.spans:
            shared_s = max(0.0, min(span.end_s, now_s) - max(span.start_s, since_s))
            if shared_s:
                self.add(span.step, shared_s)
                waited_s -= shared_s
        self.add(WaitStep.QUEUE, max(0.0, waited_s))

    def header(self) -> str:
        """`Server-Timing`, in milliseconds, with the rest of the wall time as overhead."""
        rest_s = self._clock() - self._began_s
        steps = ""
        for step, took_s in self.steps.items():
            rest_s -= took_s
            steps += step + f";dur={took_s * 1000:.3f}, "  # an enumeration's member is slow to format
        return f"{steps}{OVERHEAD};dur={max(0.0, rest_s) * 1000:.3f}"
