"""One variant in virtual time: the live placement, residency, sizing and keep-alive over a trace. It decides nothing.

The loop is the endpoint's: a request is held while nothing is ready, one wake however many wait; placement picks the
instance; the instance makes the model resident and predicts; once a second the sizing rule is asked how many there
should be.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from torpor.simulator.kernel import Kernel
from torpor.simulator.profile import ModelProfile
from torpor.simulator.site import Call, Site
from torpor.simulator.workloads import Trace
from torpor_container.core.keepalive import keep_alive
from torpor_container.core.policies import policy
from torpor_container.core.residency import Decision, Residency
from torpor_endpoint.core.placement import pick
from torpor_endpoint.core.scaling import Habits, Range
from torpor_endpoint.core.traffic import Traffic

PERIOD_S = 1.0
"""How often the sizing rule is asked, as by the endpoint."""


@dataclass(frozen=True)
class Machine:
    """One instance: its memory and disk for models in bytes, its threads, and how long it takes to wake."""

    memory_bytes: int
    disk_bytes: int
    threads: int = 1
    wake_s: float = 0.05
    loads_max: int = 4
    policy: str = "LRU"


@dataclass(frozen=True)
class Plan:
    """How a variant is run: so many instances always, or a range of them with a keep-alive."""

    machine: Machine
    instances: int = 1
    sizes: Range | None = None
    keep_alive: str = "fixed"
    idle_s: float = 1200.0


@dataclass
class Life:
    """One instance's time: what is paid for."""

    slot: str
    began_s: float
    ready_s: float | None = None
    ended_s: float | None = None


Told = Callable[[Call], None]
Recorded = Callable[[str, Decision], None]


def unrecorded(slot: str, decision: Decision) -> None:
    """Nobody keeps the decisions."""


@dataclass(eq=False)
class Simulation:
    """`told` gets every call as it ends; `recorded` every decision with the slot that made it."""

    plan: Plan
    profiles: Mapping[str, ModelProfile]
    told: Told
    recorded: Recorded = unrecorded
    kernel: Kernel = field(default_factory=Kernel)
    lives: list[Life] = field(default_factory=list)
    wakes: int = 0

    def __post_init__(self) -> None:
        self._ready: dict[str, Site] = {}
        self._load: dict[str, int] = {}
        self._wanted: dict[str, Life] = {}
        self._draining: dict[str, tuple[Site, Life]] = {}
        self._held: deque[Call] = deque()
        self._traffic = Traffic()
        self._habits = Habits(keep_alive(self.plan.keep_alive, self.plan.idle_s))
        self._over = False
        self._scale(self.plan.instances)

    def run(self, trace: Trace) -> None:
        """The whole trace, and then what is still on its way. Flat in the length of the trace."""
        names, kernel = trace.names, self.kernel
        if self.plan.sizes is not None:
            kernel.at(0.0, self._look)
        for chunk in trace.chunks():
            for time_s, number in zip(chunk.times_s.tolist(), chunk.models.tolist(), strict=True):
                kernel.run(time_s)
                self._arrive(Call(names[number], time_s))
        self._over = True
        kernel.run()
        for life in self._wanted.values():
            life.ended_s = kernel.now_s

    @property
    def in_flight(self) -> int:
        return self._traffic.in_flight

    # -- requests --------------------------------------------------------------------------------------------------
    def _arrive(self, call: Call) -> None:
        self._traffic.came(self.kernel.now_s)
        if self._ready:
            self._send(call)
            return
        self._held.append(call)
        if not self._wanted:
            self.wakes += 1
            self._scale(1)

    def _send(self, call: Call) -> None:
        slot = next(iter(self._ready)) if len(self._ready) == 1 else pick(call.model, self._load)
        self._load[slot] += 1
        self._ready[slot].ask(call)

    def _ended(self, slot: str, call: Call) -> None:
        self._traffic.went(self.kernel.now_s)
        if slot in self._load:
            self._load[slot] -= 1
        elif slot in self._draining and not self._draining[slot][0].in_flight:
            self._draining.pop(slot)[1].ended_s = self.kernel.now_s
        self.told(call)

    # -- instances -------------------------------------------------------------------------------------------------
    def _scale(self, size: int) -> None:
        number = 0
        while len(self._wanted) < size:
            slot = f"variant/{number}"
            if slot not in self._wanted and slot not in self._draining:
                life = self._wanted[slot] = Life(slot, self.kernel.now_s)
                self.lives.append(life)
                self.kernel.after(self.plan.machine.wake_s, self._become_ready, slot, life)
            number += 1
        for slot in sorted(self._wanted)[size:]:
            self._retire(slot)

    def _become_ready(self, slot: str, life: Life) -> None:
        if self._wanted.get(slot) is not life:
            return  # it was retired meanwhile
        life.ready_s = self.kernel.now_s
        self._ready[slot], self._load[slot] = self._site(slot), 0
        while self._held:
            self._send(self._held.popleft())

    def _retire(self, slot: str) -> None:
        life = self._wanted.pop(slot)
        site = self._ready.pop(slot, None)
        self._load.pop(slot, None)
        if site is not None and site.in_flight:
            self._draining[slot] = site, life
        else:
            life.ended_s = self.kernel.now_s

    def _site(self, slot: str) -> Site:
        machine = self.plan.machine

        record = partial(self.recorded, slot)
        memory = Residency(machine.memory_bytes, policy(machine.policy), machine.loads_max, record)
        disk = Residency(machine.disk_bytes, policy("LRU"), machine.loads_max)
        return Site(self.kernel, memory, disk, self.profiles, machine.threads, partial(self._ended, slot))

    # -- how many --------------------------------------------------------------------------------------------------
    def _look(self) -> None:
        allowed, now_s = self.plan.sizes, self.kernel.now_s
        assert allowed is not None
        wanted = self._habits.wanted(allowed, len(self._wanted), self._traffic, now_s)
        if wanted is not None:
            self._scale(wanted.size)
        if not self._over or self.in_flight or len(self._wanted) > allowed.floor:
            self.kernel.at(now_s + PERIOD_S, self._look)
