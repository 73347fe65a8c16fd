"""What a request waited for, step by step, as `Server-Timing`: the steps add up to the wall time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

from torpor_container.measuring.effort import Effort
from torpor_container.wire import ColdLoad, WaitStep

Clock = Callable[[], float]

OVERHEAD = WaitStep.OVERHEAD.value


@dataclass
class StepSpan:
    """One step's time; `end_s` is infinite while it goes on."""

    step: WaitStep
    start_s: float
    end_s: float = inf


@dataclass
class LoadStory:
    """The spans of bringing one model in. Everybody who waited for it reads off the part that he waited."""

    clock: Clock
    spans: list[StepSpan] = field(default_factory=list)
    efforts: dict[str, Effort] = field(default_factory=dict)  # what was measured where it happened
    victims: list[str] = field(default_factory=list)  # who left memory for it
    own_bytes: int = 0  # what the instance took beside its models, as this one asked for room
    cold: ColdLoad | None = None  # how it came in, once it has

    @contextmanager
    def step(self, step: WaitStep) -> Iterator[None]:
        span = StepSpan(step, self.clock())
        self.spans.append(span)
        try:
            yield
        finally:
            span.end_s = self.clock()


class Timing:
    """One request's steps, in seconds, and whether its model was in memory (`hit`; None where that means nothing)."""

    def __init__(self, clock: Clock) -> None:
        self.hit: bool | None = None
        self.cold: ColdLoad | None = None
        self.effort: Effort | None = None  # of its prediction, if that was measured
        self._clock = clock
        self._began_s = clock()
        self.steps: dict[WaitStep, float] = {}

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
        """A stopwatch, running: each call adds the time since the last one to a step, and tells it."""
        last_s = self._clock()

        def lap(step: WaitStep) -> float:
            nonlocal last_s
            now_s = self._clock()
            took_s = now_s - last_s
            self.add(step, took_s)
            last_s = now_s
            return took_s

        return lap

    def waited_for(self, story: LoadStory, since_s: float) -> None:
        """Add what the story shows from `since_s` on; what no span explains was queueing."""
        now_s = self._clock()
        waited_s = now_s - since_s
        for span in story.spans:
            shared_s = max(0.0, min(span.end_s, now_s) - max(span.start_s, since_s))
            if shared_s:
                self.add(span.step, shared_s)
                waited_s -= shared_s
        self.add(WaitStep.QUEUE, max(0.0, waited_s))

    def header(self) -> str:
        """`Server-Timing`, in milliseconds, with the rest of the wall time as overhead."""
        rest_s = self._clock() - self._began_s
        told = ""
        for step, took_s in self.steps.items():
            rest_s -= took_s
            told += step + f";dur={took_s * 1000:.3f}, "  # an enumeration's member is slow to format
        return f"{told}{OVERHEAD};dur={max(0.0, rest_s) * 1000:.3f}"
