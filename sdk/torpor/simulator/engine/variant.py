"""One variant in virtual time: the live placement, residency, sizing and keep-alive over a trace. It decides nothing.

The loop is the endpoint's: a request is held while nothing is ready, one wake however many wait; placement picks the
instance; the instance makes the model resident and predicts; once a second the sizing rule is asked how many there
should be.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import floor, inf
from sys import intern

from torpor.simulator.engine.instance import Callers, SimulatedCall, SimulatedInstance, VariantCounts, called
from torpor.simulator.engine.kernel import Kernel
from torpor.simulator.engine.processors import Processors
from torpor.workloads import Trace
from torpor.workloads.profile import EXACT, ModelProfile, Spread
from torpor_container.core.keepalive import keep_alive
from torpor_container.core.policies import LRU, Policy, policy
from torpor_container.core.residency import Decision, Residency
from torpor_container.core.resting import Resting
from torpor_container.core.turns import Sharing, Turns
from torpor_container.settings import DEFAULTS
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.scaling import SHRINK_S, Habits, InstanceRange

PERIOD_S = 1.0
"""How often the sizing rule is asked, and each instance looks for models that rest: as the endpoint's own."""

CLOSE_S = 5.0
"""How long an instance that ends waits for models on their way out, at most: as the keeper."""


@dataclass(frozen=True)
class Rests:
    """A keep-alive by name, with its fixed time in seconds."""

    policy: str = DEFAULTS.model_keep_alive
    idle_s: float = DEFAULTS.idle_s


@dataclass(frozen=True)
class Machine:
    """One instance: its memory and disk for models in bytes, its threads, and how long it takes to wake. Loads and
    predictions share `processors`; None: nothing is slower for what else goes on."""

    memory_bytes: int
    disk_bytes: int
    threads: int = 1
    wake_s: float = 0.05
    loads_max: int = DEFAULTS.loads_max
    policy: str = DEFAULTS.policy
    cache: bool = DEFAULTS.model_cache  # ModelCacheSetting
    models_rest: Rests | None = None  # None: a model leaves for another one only
    processors: int | None = None


@dataclass(frozen=True)
class VariantPlan:
    """How a variant is run: so many instances always, or a range of them with a keep-alive."""

    machine: Machine
    instances: int = 1
    sizes: InstanceRange | None = None
    keep_alive: str = DEFAULTS.keep_alive
    idle_s: float = DEFAULTS.idle_s
    begun: bool = False  # the first instances are ready when the trace begins; else they are on their way


@dataclass
class SimulatedLife:
    """One instance's time: what is paid for."""

    slot: str
    began_s: float
    ready_s: float | None = None
    retired_s: float | None = None  # it got no more requests
    ended_s: float | None = None  # the last of those that it had was answered


@dataclass(frozen=True)
class VariantReading:
    """What there is at one moment."""

    at_s: float
    instances: int  # ready or on their way
    in_flight: int
    models: int  # in memory, of all instances
    memory_bytes: int  # theirs, and of those that are being loaded


Told = Callable[[list[SimulatedCall]], None]
Recorded = Callable[[str, Decision], None]


@dataclass(eq=False)
class Simulation:
    """`told` gets the calls that have ended, some at a time, in the order in which they ended; `recorded` every
    decision with the slot that made it. `make_policy` stands in for the machine's, for those that know the trace."""

    plan: VariantPlan
    profiles: Mapping[str, ModelProfile]
    told: Told
    recorded: Recorded | None = None
    spread: Spread = EXACT
    make_policy: Callable[[], Policy] | None = None
    kernel: Kernel = field(default_factory=Kernel)
    lives: list[SimulatedLife] = field(default_factory=list)
    lasts_s: float = 0.0  # the trace, with the quiet at its end; known once it was read
    counts: VariantCounts = field(default_factory=VariantCounts)

    def __post_init__(self) -> None:
        self._ready: Placement[SimulatedInstance] = Placement()
        self._wanted: dict[str, SimulatedLife] = {}
        self._draining: dict[str, tuple[SimulatedLife, SimulatedInstance]] = {}
        self._disks: dict[str, dict[str, None]] = {}  # what each slot's disk holds, whether an instance is there or not
        self._held: deque[SimulatedCall] = deque()
        self._callers = Callers()
        self._keep_alive = keep_alive(self.plan.keep_alive, self.plan.idle_s)
        self._habits = Habits(self._keep_alive)
        self._left_out_s = inf  # since when looks are left out
        self.over = False
        self._beginning = self.plan.begun
        self._scale(self.plan.instances)
        self._beginning = False

    def run(self, trace: Trace) -> None:
        """The whole trace, and then what is still on its way. Flat in the length of the trace."""
        if self.plan.sizes is not None:
            self.kernel.at(0.0, self._look, self.plan.sizes)
        for requests in called(trace):
            self.kernel.play(requests, self._arrive)
            self._tell()
        self.lasts_s = trace.lasts_s or 0.0
        self.over = True
        self.kernel.run()
        self._tell()
        for life in self._wanted.values():
            life.ended_s = max(self.lasts_s, self.kernel.now_s)

    @property
    def in_flight(self) -> int:
        return self._callers.traffic.in_flight

    @property
    def quiet(self) -> bool:
        """Whether nothing is to come any more: the trace is over, all is answered, nobody is awake who may sleep."""
        least = len(self._wanted) if self.plan.sizes is None else self.plan.sizes.floor
        over = self.over and self.kernel.now_s >= self.lasts_s
        return over and not self.in_flight and len(self._wanted) <= least

    def look(self) -> VariantReading:
        books = [site.memory for site in self._ready]
        models = sum(1 for book in books for _ in book)
        return VariantReading(
            self.kernel.now_s, len(self._wanted), self.in_flight, models, sum(b.planned_bytes for b in books)
        )

    def planned_bytes(self) -> dict[str, int]:
        """What each ready instance's memory holds and is about to hold."""
        return {site.slot: site.memory.planned_bytes for site in self._ready}

    # -- requests --------------------------------------------------------------------------------------------------
    def _tell(self) -> None:
        if done := self._callers.done:
            self._callers.done = []
            self.told(done)

    def _arrive(self, model: str) -> None:
        call = SimulatedCall(model, self.kernel.now_s)
        if self._left_out_s < inf:
            self._look_again(floor(call.arrived_s) + PERIOD_S)
        self._callers.traffic.came(call.arrived_s)
        if len(self._ready):
            self._ready.pick(model).ask(call)
            return
        self._held.append(call)
        if not self._wanted:
            self.counts.wakes += 1
            self._scale(1)

    # -- instances -------------------------------------------------------------------------------------------------
    def _scale(self, size: int) -> None:
        number = 0
        while len(self._wanted) < size:
            slot = intern(f"endpoint/variant/{number}")  # as the endpoint writes it: placement hashes it
            if slot not in self._wanted and slot not in self._draining:
                self._start(SimulatedLife(slot, self.kernel.now_s))
            number += 1
        for slot in sorted(self._wanted, key=self._stays)[size:]:
            self._retire(slot)

    def _stays(self, slot: str) -> tuple[bool, int]:
        """The lower, the longer: as in the endpoint, those that are not ready go first."""
        return self._ready.get(slot) is None, _number(slot)

    def _start(self, life: SimulatedLife) -> None:
        self._wanted[life.slot] = life
        self.lives.append(life)
        if self._beginning:
            self._become_ready(life)
        else:
            self.kernel.after(self.plan.machine.wake_s * self.spread.wake(), self._become_ready, life)

    def _become_ready(self, life: SimulatedLife) -> None:
        slot = life.slot
        if self._wanted.get(slot) is not life:
            return  # it was retired meanwhile
        life.ready_s = self.kernel.now_s
        site = self._site(slot)
        self._ready.offer(slot, site)
        self.kernel.soon(self._let_go, self._held)
        if self.plan.machine.models_rest is not None:
            self.kernel.after(PERIOD_S, self._rest, (site, life))

    def _let_go(self, held: deque[SimulatedCall]) -> None:
        """Those who were held go, once all that become ready at this moment are."""
        while held and len(self._ready):
            call = held.popleft()
            self._ready.pick(call.model).ask(call)

    def _retire(self, slot: str) -> None:
        life = self._wanted.pop(slot)
        life.retired_s = self.kernel.now_s
        site = self._ready.withdraw(slot)
        if site is None:
            life.ended_s = self.kernel.now_s
            return
        self._draining[slot] = life, site
        site.retired = True
        if not site.in_flight:
            self._close(slot)

    def _close(self, slot: str) -> None:
        """Its callers have their answers. Models on their way out are waited for."""
        site, now_s = self._draining[slot][1], self.kernel.now_s
        site.resting = None
        if site.leaving_until_s > now_s:
            self.kernel.at(min(site.leaving_until_s, now_s + CLOSE_S), self._gone, slot)
        else:
            self._gone(slot)

    def _gone(self, slot: str) -> None:
        life, site = self._draining.pop(slot)
        life.ended_s = self.kernel.now_s
        self._disks[slot] = dict(site.stored)  # what still ends in this instance touches the next one's disk no more

    def _site(self, slot: str) -> SimulatedInstance:
        machine, rests = self.plan.machine, self.plan.machine.models_rest
        record = None if self.recorded is None else partial(self.recorded, slot)
        chosen = policy(machine.policy) if self.make_policy is None else self.make_policy()
        return SimulatedInstance(
            slot,
            self.kernel,
            Residency(machine.memory_bytes, chosen, machine.loads_max, record),
            Residency(machine.disk_bytes, LRU(), machine.loads_max),
            self.profiles,
            Turns(Sharing(machine.threads, machine.threads)),
            self._callers,
            self._close,
            self.counts,
            Processors(self.kernel, machine.processors),
            self.spread,
            machine.cache,
            None if rests is None else Resting(partial(keep_alive, rests.policy, rests.idle_s)),
            self._disks.setdefault(slot, {}),
        )

    # -- how many --------------------------------------------------------------------------------------------------
    def _look(self, allowed: InstanceRange) -> None:
        now_s = self.kernel.now_s
        if wanted := self._habits.wanted(allowed, len(self._wanted), self._callers.traffic, now_s):
            self._scale(wanted.size)
        if self.quiet:
            return
        if self.in_flight or self._draining or len(self._wanted) > allowed.floor:
            self.kernel.at(now_s + PERIOD_S, self._look, allowed)
        else:
            self._leave_looks_out(now_s + PERIOD_S)

    def _leave_looks_out(self, next_s: float) -> None:
        """Nobody calls, and nobody is there who might go: nothing changes before somebody calls, or is expected."""
        self._left_out_s = next_s
        nap, idle_s = self._keep_alive.nap(), self._callers.traffic.idle_s(self.kernel.now_s)
        if idle_s < nap.wake_s < nap.until_s:
            expected_s = self.kernel.now_s + nap.wake_s - idle_s
            self.kernel.at(max(next_s, floor(expected_s) - PERIOD_S), self._expect, next_s)

    def _expect(self, left_out_s: float) -> None:
        """Just before somebody is expected. Somebody else may have called meanwhile."""
        if self._left_out_s == left_out_s and not self.quiet:
            self._look_again(self.kernel.now_s)

    def _look_again(self, next_s: float) -> None:
        """The rule goes by what it saw lately: it is shown what it would have seen, had it looked."""
        allowed, looks_s = self.plan.sizes, max(self._left_out_s, next_s - SHRINK_S)
        assert allowed is not None
        while looks_s < next_s:
            self._habits.wanted(allowed, 0, self._callers.traffic, looks_s)
            looks_s += PERIOD_S
        self._left_out_s = inf
        self.kernel.at(next_s, self._look, allowed)

    def _rest(self, instance: tuple[SimulatedInstance, SimulatedLife]) -> None:
        """Once a second since it became ready, as the instance itself does."""
        site, life = instance
        if life.ended_s is None and not self.quiet:
            site.rest()
            self.kernel.after(PERIOD_S, self._rest, instance)


def _number(slot: str) -> int:
    return int(slot.rpartition("/")[2])
