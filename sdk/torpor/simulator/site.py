"""One simulated instance: the live residency's books, carried out in virtual time as the keeper carries them out.

It decides nothing: who is pulled, who waits, who leaves and for whom are `torpor_container.core.residency`'s decisions,
who predicts next is `torpor_container.core.turns`', and who rests is `torpor_container.core.resting`'s.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torpor.simulator.bell import Bell
from torpor.simulator.kernel import Kernel
from torpor.simulator.processors import Processors
from torpor.simulator.profile import EXACT, ModelProfile, Spread
from torpor.simulator.workloads import Trace
from torpor_container.core.residency import HIT, LEAD, WAIT, Admit, Later, Lead, Refuse, Residency, Wait
from torpor_container.core.resting import Resting
from torpor_container.core.turns import Line, Turns

TOLD_MAX = 8_192
"""So many requests are read and told at a time: enough for numpy to pay, and few enough to stay in the cache."""


class Call:
    """One request. Times are virtual seconds; all are there once it has ended."""

    __slots__ = ("arrived_s", "asked_s", "done_s", "failed", "hit", "model", "ready_s", "slot")

    slot: str
    asked_s: float  # at its instance: until then it was held
    ready_s: float  # its model was there: until then it waited for it
    done_s: float

    def __init__(self, model: str, arrived_s: float) -> None:
        self.model = model
        self.arrived_s = arrived_s
        self.hit = False
        self.failed = False


def called(trace: Trace) -> Iterator[Iterator[tuple[float, str]]]:
    """When which model is called, some thousand requests at a time."""
    names = trace.names
    for chunk in trace.chunks():
        for first in range(0, len(chunk), TOLD_MAX):
            times_s = chunk.times_s[first : first + TOLD_MAX].tolist()
            models = [names[number] for number in chunk.models[first : first + TOLD_MAX].tolist()]
            yield zip(times_s, models, strict=True)


class Columns(NamedTuple):
    """Calls that have ended, field by field."""

    models: list[str]
    arrived_s: list[float]
    asked_s: list[float]
    ready_s: list[float]
    done_s: list[float]
    hit: list[bool]
    failed: list[bool]


def columns(calls: Sequence[Call]) -> Columns:
    """Here, where calls are: compiled code reads their fields without looking for them."""
    return Columns(
        [call.model for call in calls],
        [call.arrived_s for call in calls],
        [call.asked_s for call in calls],
        [call.ready_s for call in calls],
        [call.done_s for call in calls],
        [call.hit for call in calls],
        [call.failed for call in calls],
    )


@dataclass(slots=True)
class Counts:
    """What all instances of one variant did."""

    loads: int = 0
    load_s: float = 0.0
    downloads: int = 0
    unloads: int = 0
    wakes: int = 0


Ended = Callable[[Call], None]


@dataclass(slots=True, eq=False)
class Site:
    """`turns` says who predicts; `ended` is told of every call. Without `cache` a model leaves, from disk too,
    once it has served its callers. `stored` is what the slot's disk holds, the oldest first: it outlives the instance.
    Until `leaving_until_s` models are on their way out."""

    kernel: Kernel
    memory: Residency
    disk: Residency
    profiles: Mapping[str, ModelProfile]
    turns: Turns[Call]
    ended: Ended
    counts: Counts
    processors: Processors
    spread: Spread = EXACT
    cache: bool = True
    resting: Resting | None = None
    stored: dict[str, None] = field(default_factory=dict)
    leaving_until_s: float = 0.0
    _lines: dict[str, Line] = field(default_factory=dict)
    _waiting: dict[str, list[Call]] = field(default_factory=dict)
    _bell: Bell = field(init=False)  # the tiers' bells are two, as the keeper's and the shelf's
    _disk_bell: Bell = field(init=False)
    _expected: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._bell, self._disk_bell = Bell(self.kernel, self.memory), Bell(self.kernel, self.disk)
        for name in self.stored:
            self.disk.found(name, self.profiles[name].disk_bytes, self.kernel.now_s)

    def ask(self, call: Call) -> None:
        """A request for a model has come to this instance."""
        call.asked_s = now_s = self.kernel.now_s
        if self.resting is not None and not self._used(call.model):
            self.resting.called(call.model, now_s)
        plan = self.memory.request(call.model, now_s)
        if plan is HIT:
            call.hit = True
            self._start(call)
        else:
            self._without(call, plan)

    def rest(self) -> None:
        """The chore of once a second: models that nobody is expected to call leave, and the expected come."""
        if self.resting is None:
            return
        now_s = self.kernel.now_s
        moves = self.resting.look(self._unused(), now_s)
        for name in moves.leaving:
            self._drop(name, "nobody calls")
        for name in moves.coming:
            if self.memory.expect(name, now_s):
                self._expected.add(name)
                self._waiting[name] = []
                self.kernel.soon(self._pull, name)

    def _unused(self) -> Iterator[str]:
        for name, model in self.memory:
            if not model.pins:
                yield name

    # -- the model -------------------------------------------------------------------------------------------------
    def _again(self, call: Call) -> None:
        plan = self.memory.request(call.model, self.kernel.now_s)
        if plan is HIT:
            call.hit = True
            self._start(call)
        else:
            self._without(call, plan)

    def _without(self, call: Call, plan: Wait | Lead | Later | object) -> None:
        if plan is WAIT:
            self._waiting[call.model].append(call)
        elif plan is LEAD:
            self._waiting[call.model] = [call]
            self.kernel.soon(self._pull, call.model)
        else:
            self._bell.wait(self._again, call)

    def _pull(self, name: str) -> None:
        plan = self.disk.request(name, self.kernel.now_s)
        if plan is HIT:
            self._admit(name)
        elif plan is LEAD:
            self._admit_to_disk(name)
        else:
            self._disk_bell.wait(self._pull, name)

    def _admit_to_disk(self, name: str) -> None:
        profile = self.profiles[name]
        plan = self.disk.admit(name, profile.disk_bytes, self.kernel.now_s)
        if isinstance(plan, Admit):
            self._delete(plan.victims)
            self.counts.downloads += 1
            factor = self.spread.load()
            self.kernel.after(profile.download_s * factor, self._unpack, name, factor, self.kernel.now_s)
        elif isinstance(plan, Refuse):
            self.disk.failed(name, plan.reason, self.kernel.now_s)
            self._disk_bell.ring()
            self._fail(name, plan.reason)
        else:
            self._delete(plan.victims)
            self._disk_bell.wait_for_admission(self._admit_to_disk, name)

    def _unpack(self, name: str, factor: float, since_s: float) -> None:
        self.processors.after(self.profiles[name].unpack_s * factor, self._unpacked, name, since_s)

    def _unpacked(self, name: str, since_s: float) -> None:
        now_s = self.kernel.now_s
        self.disk.loaded(name, self.profiles[name].disk_bytes, now_s - since_s, now_s)
        self.stored[name] = None
        self._disk_bell.ring()
        self._delete(self.disk.excess(name, now_s))
        self._admit(name)

    def _delete(self, names: tuple[str, ...]) -> None:
        for name in names:
            del self.stored[name]
            self.kernel.soon(self._deleted, name)

    def _deleted(self, name: str) -> None:
        self.disk.unloaded(name, 0.0, self.kernel.now_s)
        self._disk_bell.ring()

    def _admit(self, name: str) -> None:
        profile = self.profiles[name]
        plan = self.memory.admit(name, profile.memory_bytes, self.kernel.now_s)
        if isinstance(plan, Admit):
            self.counts.loads += 1
            self.kernel.after(self._dismiss(plan.victims), self._load, name, profile.load_s * self.spread.load())
        elif isinstance(plan, Refuse):
            self._give_back(name)
            self._fail(name, plan.reason)
        else:
            self._dismiss(plan.victims)
            self._bell.wait_for_admission(self._admit, name)

    def _load(self, name: str, takes_s: float) -> None:
        self.processors.after(takes_s, self._loaded, name, self.kernel.now_s)

    def _loaded(self, name: str, since_s: float) -> None:
        now_s = self.kernel.now_s
        took_s = now_s - since_s
        self.counts.load_s += took_s
        self._give_back(name)
        self.memory.loaded(name, self.profiles[name].memory_bytes, took_s, now_s)
        if victims := self.memory.excess(name, now_s):
            self._dismiss(victims)
        for call in self._waiting.pop(name):
            self._start(call)
        self._bell.ring()
        if name in self._expected:
            self._expected.remove(name)
            self.kernel.soon(self._unpin, name)

    def _unpin(self, name: str) -> None:
        """It was brought in for nobody. Who waited for room has asked by now, as in the keeper."""
        if self.memory.released(name):
            self._let_be(name)

    def _dismiss(self, names: tuple[str, ...]) -> float:
        """They leave. In how many seconds the last of them is gone."""
        longest_s = 0.0
        for name in names:
            self.counts.unloads += 1
            unload_s = self.profiles[name].unload_s
            self.kernel.after(unload_s, self._unloaded, name, unload_s)
            if longest_s < unload_s:
                longest_s = unload_s
        self.leaving_until_s = max(self.leaving_until_s, self.kernel.now_s + longest_s)
        return longest_s

    def _drop(self, name: str, reason: str) -> None:
        if self.memory.drop(name, reason, self.kernel.now_s):
            self._dismiss((name,))

    def _unloaded(self, name: str, took_s: float) -> None:
        self.memory.unloaded(name, took_s, self.kernel.now_s)
        self._lines.pop(name, None)
        if not self.cache and self.disk.drop(name, "ModelCacheSetting is Disabled", self.kernel.now_s):
            self._delete((name,))
        self._bell.ring()

    def _give_back(self, name: str) -> None:
        if self.disk.released(name):
            self._disk_bell.ring()

    def _fail(self, name: str, reason: str) -> None:
        self.memory.failed(name, f"{name} can not be loaded: {reason}", self.kernel.now_s)
        self._expected.discard(name)
        for call in self._waiting.pop(name):
            call.failed = True
            call.ready_s = call.done_s = self.kernel.now_s
            self.ended(call)

    def _used(self, name: str) -> bool:
        model = self.memory.get(name)
        return model is not None and model.pins > 0

    # -- the prediction --------------------------------------------------------------------------------------------
    def _start(self, call: Call) -> None:
        call.ready_s = now_s = self.kernel.now_s
        line = self._lines.get(call.model)
        if line is None:
            line = self._lines[call.model] = Line()
        charged_s = self.turns.begin(line)
        if charged_s is None:
            self.turns.wait(line, call, now_s)
            self._go_on()
        else:
            self._predict(call, line, charged_s)

    def _go_on(self) -> None:
        while turn := self.turns.next(self.kernel.now_s):
            self._predict(turn.asked[0], turn.line, turn.charged_s)

    def _predict(self, call: Call, line: Line, charged_s: float) -> None:
        takes_s = self.profiles[call.model].predict_s * self.spread.predict()
        self.processors.after(takes_s, self._done, call, line, charged_s, self.kernel.now_s)

    def _done(self, call: Call, line: Line, charged_s: float, since_s: float) -> None:
        self.turns.ended(line, charged_s, self.kernel.now_s - since_s)
        if self.turns.waiting:
            self._go_on()
        if self.memory.released(call.model):
            self._idle(call.model)
        call.done_s = self.kernel.now_s
        self.ended(call)

    def _idle(self, name: str) -> None:
        """The last of its callers was served."""
        if self.resting is not None:
            self.resting.ended(name, self.kernel.now_s)
        if self._bell.waiting or not self.cache:
            self._let_be(name)
        if self.memory.selective and self.cache and self.memory.spent(name, self.kernel.now_s):
            self._dismiss((name,))

    def _let_be(self, name: str) -> None:
        """Nobody uses it now. It may have been brought in for nobody: that was no use."""
        if not self.cache:
            self._drop(name, "ModelCacheSetting is Disabled")
        self._bell.ring()
