"""One simulated instance: the live residency's books, carried out in virtual time as the keeper carries them out.

It decides nothing: who is pulled, who waits, who leaves and for whom are `torpor_container.core.residency`'s decisions,
who predicts next is `torpor_container.core.turns`', and who rests is `torpor_container.core.resting`'s.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from torpor.simulator.engine.kernel import Action, Kernel
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.waiting import WaitingRoom
from torpor.workloads import Trace
from torpor.workloads.profile import EXACT, ModelProfile, Spread
from torpor_container.core.residency import HIT, LEAD, WAIT, Admit, Refuse, Residency
from torpor_container.core.resting import Resting
from torpor_container.core.turns import ModelQueue, Turns
from torpor_endpoint.core.placement import PlacedInstance
from torpor_endpoint.core.traffic import Traffic

TOLD_MAX = 8_192
"""So many requests are read and told at a time: enough for numpy to pay, and few enough to stay in the cache."""


# what became of a request: numbers, of which a column can be made
LOADED: Final = 0  # its model had to be
FOUND: Final = 1  # its model was in memory
FAILED: Final = 2  # its model fits in nowhere
HELD: Final = 4  # besides: it waited for an instance


class SimulatedCall:
    """One request. Times are virtual seconds; all are there once it has ended."""

    __slots__ = (
        "arrived_s", "asked_s", "begun_s", "charged_s", "done_s", "lent", "model", "outcome", "ready_s", "site",
    )  # fmt: skip

    site: "SimulatedInstance"
    asked_s: float  # at its instance: until then it was held
    ready_s: float  # its model was there: until then it waited for it
    begun_s: float  # its prediction: until then it waited for its turn
    done_s: float
    lent: "Lent"
    charged_s: float  # for its turn, beforehand

    def __init__(self, model: str, arrived_s: float) -> None:
        self.model = model
        self.arrived_s = arrived_s
        self.outcome = LOADED

    @property
    def hit(self) -> bool:
        return self.outcome == FOUND

    @property
    def failed(self) -> bool:
        return self.outcome == FAILED


class Lent:
    """One model of one instance, from its first caller until it is gone: what it takes, and who waits for it."""

    __slots__ = ("expected", "factor", "line", "name", "profile", "since_s", "waiting")

    factor: float  # of the present step's time, download or load
    since_s: float  # that step goes on

    def __init__(self, name: str, profile: ModelProfile) -> None:
        self.name = name
        self.profile = profile
        self.expected = False  # it comes before anybody calls
        self.waiting: list[SimulatedCall] = []
        self.line = ModelQueue()


def called(trace: Trace) -> Iterator[Iterator[tuple[float, str]]]:
    """When which model is called, some thousand requests at a time."""
    for chunk in trace.chunks():
        names = list(trace.names)
        for first in range(0, len(chunk), TOLD_MAX):
            times_s = chunk.times_s[first : first + TOLD_MAX].tolist()
            numbers: list[int] = chunk.models[first : first + TOLD_MAX].tolist()
            yield zip(times_s, [names[number] for number in numbers], strict=True)


class CallColumns(NamedTuple):
    """Calls that have ended, field by field."""

    models: list[str]
    arrived_s: list[float]
    ready_s: list[float]
    done_s: list[float]
    outcomes: bytes  # LOADED, FOUND or FAILED; and HELD


def columns(calls: list[SimulatedCall]) -> CallColumns:
    """Here, where calls are: compiled code reads their fields without looking for them, and makes lists of lists
    in one go."""
    return CallColumns(
        [call.model for call in calls],
        [call.arrived_s for call in calls],
        [call.ready_s for call in calls],
        [call.done_s for call in calls],
        bytes([call.outcome | HELD if call.asked_s > call.arrived_s else call.outcome for call in calls]),
    )


@dataclass(slots=True)
class VariantCounts:
    """What all instances of one variant did."""

    loads: int = 0
    load_s: float = 0.0
    downloads: int = 0
    unloads: int = 0
    wakes: int = 0


class Callers:
    """Those of all instances of one variant."""

    __slots__ = ("done", "traffic")

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.done: list[SimulatedCall] = []  # those who have their answers, in that order

    def ended(self, call: SimulatedCall) -> None:
        self.traffic.went(call.done_s)
        self.done.append(call)


@dataclass(slots=True, eq=False)
class SimulatedInstance(PlacedInstance):
    """`turns` says who predicts; `emptied` is told the slot when nobody is served any more where nobody asks any more.
    Without `cache` a model leaves, from disk too, once it has served its callers. `stored` is what the slot's disk
    holds, the oldest first: it outlives the instance. Until `leaving_until_s` models are on their way out."""

    slot: str
    kernel: Kernel
    memory: Residency
    disk: Residency
    profiles: Mapping[str, ModelProfile]
    turns: Turns[SimulatedCall]
    callers: Callers
    emptied: Callable[[str], None]
    counts: VariantCounts
    processors: Processors
    spread: Spread = EXACT
    cache: bool = True
    resting: Resting | None = None
    stored: dict[str, None] = field(default_factory=dict)
    leaving_until_s: float = 0.0
    in_flight: int = 0  # asked, and not ended
    retired: bool = False  # nobody asks it any more
    _lent: dict[str, Lent] = field(default_factory=dict)  # those of whom the memory's books know
    _waiters: WaitingRoom = field(init=False)  # one of each tier, as the keeper and the disk tier have
    _disk_waiters: WaitingRoom = field(init=False)
    _pulled: Action = field(init=False)  # the steps that are planned over and over are bound once: that takes long
    _begun: Action = field(init=False)
    _ready: Action = field(init=False)
    _left: Action = field(init=False)
    _served: Action = field(init=False)

    def __post_init__(self) -> None:
        self._waiters, self._disk_waiters = WaitingRoom(self.kernel, self.memory), WaitingRoom(self.kernel, self.disk)
        self._pulled, self._begun, self._ready = self._pull, self._load, self._loaded
        self._left, self._served = self._unloaded, self._done
        for name in self.stored:
            self.disk.found(name, self.profiles[name].disk_bytes, self.kernel.now_s)

    def ask(self, call: SimulatedCall) -> None:
        """A request for a model has come to this instance."""
        call.site = self
        call.asked_s = now_s = self.kernel.now_s
        self.in_flight += 1
        if self.resting is not None and not self._used(call.model):
            self.resting.called(call.model, now_s)
        self._request(call)

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
                self._lead(name).expected = True

    def _unused(self) -> Iterator[str]:
        for name, model in self.memory:
            if not model.pins:
                yield name

    # -- the model -------------------------------------------------------------------------------------------------
    def _request(self, call: SimulatedCall) -> None:
        plan = self.memory.request(call.model, self.kernel.now_s)
        if plan is HIT:
            call.outcome = FOUND
            self._start(call, self._lent[call.model])
        elif plan is WAIT:
            self._lent[call.model].waiting.append(call)
        elif plan is LEAD:
            self._lead(call.model).waiting.append(call)
        else:
            self._waiters.wait(self._request, call)

    def _lead(self, name: str) -> Lent:
        model = self._lent[name] = Lent(name, self.profiles[name])
        self.kernel.soon(self._pulled, model)
        return model

    def _pull(self, model: Lent) -> None:
        plan = self.disk.request(model.name, self.kernel.now_s)
        if plan is HIT:
            self._admit(model)
        elif plan is LEAD:
            self._admit_to_disk(model)
        else:
            self._disk_waiters.wait(self._pull, model)

    def _admit_to_disk(self, model: Lent) -> None:
        now_s = self.kernel.now_s
        plan = self.disk.admit(model.name, model.profile.disk_bytes, now_s)
        if isinstance(plan, Admit):
            self._delete(plan.victims)
            self.counts.downloads += 1
            model.factor, model.since_s = self.spread.load(), now_s
            delay_s = model.profile.download_s + model.profile.unpack_delay_s
            self.kernel.after(delay_s * model.factor, self._unpack, model)
        elif isinstance(plan, Refuse):
            self.disk.failed(model.name, plan.reason, now_s)
            self._disk_waiters.ring()
            self._fail(model, plan.reason)
        else:
            self._delete(plan.victims)
            self._disk_waiters.wait_for_admission(self._admit_to_disk, model, model.profile.disk_bytes)

    def _unpack(self, model: Lent) -> None:
        self.processors.after(model.profile.unpack_s * model.factor, self._unpacked, model)

    def _unpacked(self, model: Lent) -> None:
        name, now_s = model.name, self.kernel.now_s
        self.disk.loaded(name, model.profile.disk_bytes, now_s - model.since_s, now_s)
        self.stored[name] = None
        self._disk_waiters.ring()
        self._delete(self.disk.evict_excess(name, now_s))
        self._admit(model)

    def _delete(self, names: tuple[str, ...]) -> None:
        for name in names:
            del self.stored[name]
            self.kernel.soon(self._deleted, name)

    def _deleted(self, name: str) -> None:
        self.disk.unloaded(name, 0.0, self.kernel.now_s)
        self._disk_waiters.ring()

    def _admit(self, model: Lent) -> None:
        plan = self.memory.admit(model.name, model.profile.memory_bytes, self.kernel.now_s)
        if isinstance(plan, Admit):
            self.counts.loads += 1
            model.factor = self.spread.load()
            self.kernel.after(self._dismiss(plan.victims), self._begun, model)
        elif isinstance(plan, Refuse):
            self._give_back(model.name)
            self._fail(model, plan.reason)
        else:
            self._dismiss(plan.victims)
            if model.expected:  # it may be refused, which those that were asked for are not
                self._waiters.wait(self._admit, model)
            else:
                self._waiters.wait_for_admission(self._admit, model, model.profile.memory_bytes)

    def _load(self, model: Lent) -> None:
        model.since_s = self.kernel.now_s
        if model.profile.load_delay_s:
            self.kernel.after(model.profile.load_delay_s * model.factor, self._read, model)
        else:
            self._read(model)

    def _read(self, model: Lent) -> None:
        self.processors.after(model.profile.load_s * model.factor, self._ready, model)

    def _loaded(self, model: Lent) -> None:
        name, now_s = model.name, self.kernel.now_s
        took_s = now_s - model.since_s
        self.counts.load_s += took_s
        self._give_back(name)
        self.memory.loaded(name, model.profile.memory_bytes, took_s, now_s)
        if victims := self.memory.evict_excess(name, now_s):
            self._dismiss(victims)
        for call in model.waiting:
            self._start(call, model)
        model.waiting.clear()
        self._waiters.ring()
        if model.expected:
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
            model = self._lent[name]
            unload_s = model.profile.unload_s
            self.kernel.after(unload_s, self._left, model)
            if longest_s < unload_s:
                longest_s = unload_s
        self.leaving_until_s = max(self.leaving_until_s, self.kernel.now_s + longest_s)
        return longest_s

    def _drop(self, name: str, reason: str) -> None:
        if self.memory.drop(name, reason, self.kernel.now_s):
            self._dismiss((name,))

    def _unloaded(self, model: Lent) -> None:
        name, now_s = model.name, self.kernel.now_s
        self.memory.unloaded(name, model.profile.unload_s, now_s)
        del self._lent[name]
        if not self.cache and self.disk.drop(name, "ModelCacheSetting is Disabled", now_s):
            self._delete((name,))
        self._waiters.ring()

    def _give_back(self, name: str) -> None:
        if self.disk.released(name):
            self._disk_waiters.ring()

    def _fail(self, model: Lent, reason: str) -> None:
        now_s = self.kernel.now_s
        self.memory.failed(model.name, f"{model.name} cannot be loaded: {reason}", now_s)
        del self._lent[model.name]
        for call in model.waiting:
            call.outcome = FAILED
            call.ready_s = call.done_s = now_s
            self._answer(call)

    def _answer(self, call: SimulatedCall) -> None:
        self.in_flight -= 1
        self.callers.ended(call)
        if self.retired and not self.in_flight:
            self.emptied(self.slot)

    def _used(self, name: str) -> bool:
        model = self.memory.get(name)
        return model is not None and model.pins > 0

    # -- the prediction --------------------------------------------------------------------------------------------
    def _start(self, call: SimulatedCall, model: Lent) -> None:
        call.ready_s = now_s = self.kernel.now_s
        call.lent = model
        charged_s = self.turns.begin(model.line)
        if charged_s is None:
            self.turns.wait(model.line, call, now_s)
            self._go_on()
        else:
            self._predict(call, charged_s)

    def _go_on(self) -> None:
        while turn := self.turns.next(self.kernel.now_s):
            self._predict(turn.requests[0], turn.charged_s)

    def _predict(self, call: SimulatedCall, charged_s: float) -> None:
        call.charged_s, call.begun_s = charged_s, self.kernel.now_s
        profile = call.lent.profile
        if profile.predict_delay_s:
            self.kernel.after(profile.predict_delay_s, self._compute, call)
        else:
            self.processors.after(profile.predict_s * self.spread.predict(), self._served, call)

    def _compute(self, call: SimulatedCall) -> None:
        self.processors.after(call.lent.profile.predict_s * self.spread.predict(), self._served, call)

    def _done(self, call: SimulatedCall) -> None:
        call.done_s = now_s = self.kernel.now_s
        self.turns.ended(call.lent.line, call.charged_s, now_s - call.begun_s)
        if self.turns.waiting:
            self._go_on()
        if self.memory.released(call.model):
            self._idle(call.model)
        self._answer(call)

    def _idle(self, name: str) -> None:
        """The last of its callers was served."""
        if self.resting is not None:
            self.resting.ended(name, self.kernel.now_s)
        if self._waiters.waiting or not self.cache:
            self._let_be(name)
        if self.memory.selective and self.cache and self.memory.drop_unless_kept(name, self.kernel.now_s):
            self._dismiss((name,))

    def _let_be(self, name: str) -> None:
        """Nobody uses it now. It may have been brought in for nobody: that was no use."""
        if not self.cache:
            self._drop(name, "ModelCacheSetting is Disabled")
        self._waiters.ring()
