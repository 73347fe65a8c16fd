"""One variant in virtual time: the endpoint's own placement, residency, sizing and keep-alive, played over a trace.

This module decides nothing. It repeats the endpoint's loop: a request is held while no instance is ready, and one wake
serves all held requests; placement picks the instance; the instance loads the model and predicts; once a second the
sizing rule says how many instances there should be.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import floor, inf
from sys import intern

from torpor.simulator.engine.apart.busy_bounds import BusyBounds
from torpor.simulator.engine.apart.played_apart import PlayedApart
from torpor.simulator.engine.call_records import (
    CallsApart,
    CountsApart,
    QueuedCalls,
    SimulatedCall,
    VariantCalls,
    VariantCounts,
    call_batches,
)
from torpor.simulator.engine.handovers.simulated_handovers import SimulatedHandovers
from torpor.simulator.engine.shared_files import SharedFiles
from torpor.simulator.engine.simulated_container import SimulatedPipeline
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.sizing_rounds import PERIOD_S, SizingRounds
from torpor.simulator.engine.variant.making_instances import InstanceMaker, Recorded
from torpor.simulator.engine.variant.variant_plan import VariantPlan
from torpor.simulator.engine.virtual_time import Kernel
from torpor.workloads import Trace
from torpor.workloads.profile import EXACT, ModelProfile, Spread
from torpor_container.core.eviction import Policy, policy
from torpor_container.core.keepalive import keep_alive
from torpor_endpoint.core.placement import UNBOUNDED, Placement

OWNERS_MAX = 1 << 18
"""The most models whose instance is remembered: more than a router does, since a simulation does little else."""

CLOSE_S = 5.0
"""The longest time that a stopping instance waits for models that are being unloaded: as in the keeper."""

APART_MIN = 64
"""So many instances are played one after another, if nothing but placement joins them: fewer fit into the cache."""


@dataclass
class SimulatedLife:
    """The lifetime of one instance, which is what the user pays for."""

    slot: str
    began_s: float
    ready_s: float | None = None
    retired_s: float | None = None  # from then on it got no requests
    ended_s: float | None = None  # its last request was answered


@dataclass(frozen=True)
class VariantReading:
    """The state of a variant at one moment."""

    at_s: float
    instances: int  # ready or starting
    in_flight: int
    models: int  # in memory, over all instances
    memory_bytes: int  # of those models, and of the models that are being loaded


OnCalls = Callable[[list[SimulatedCall]], None]
Choose = Callable[[str, float, Placement[SimulatedInstance]], SimulatedCall]
"""Makes the request of a name in the trace, at this moment and with these ready instances."""


@dataclass(eq=False)
class Simulation:
    """`on_calls` gets requests in batches, as they ended; `recorded` gets each decision about memory, with its slot.
    `make_policy` makes an offline policy instead. Of a shadow variant, what comes beyond `in_flight_max` is dropped."""

    plan: VariantPlan
    profiles: Mapping[str, ModelProfile]
    on_calls: OnCalls
    recorded: Recorded | None = None
    spread: Spread = EXACT
    make_policy: Callable[[], Policy] | None = None
    kernel: Kernel = field(default_factory=Kernel)
    lives: list[SimulatedLife] = field(default_factory=list)
    lasts_s: float = 0.0  # the trace, with the quiet at its end; set once the trace is read
    counts: VariantCounts = field(default_factory=VariantCounts)
    in_flight_max: int | None = None
    container_spreads: Sequence[Spread] = ()  # one for each container of a pipeline; empty: EXACT
    choose: Choose | None = None  # for a variant whose requests may name a group
    apart_min: int = APART_MIN  # fewer instances are always played together, in order of time

    def __post_init__(self) -> None:
        machine, most = self.plan.machine, self.plan.at_once or UNBOUNDED
        containers = len(machine.containers)
        self.handovers = SimulatedHandovers(self.profiles, most, OWNERS_MAX)
        self._ready, self._files = self.handovers.ready, SharedFiles(self.profiles, machine.imports_s)
        self._wanted: dict[str, SimulatedLife] = {}
        self._draining: dict[str, tuple[SimulatedLife, SimulatedInstance]] = {}
        self._pipeline = SimulatedPipeline(self._ready, containers, machine.models_at) if containers > 1 else None
        self._held: deque[SimulatedCall] = deque()
        self._most = min(inf if most is None else most for most in (self.plan.in_flight_max, self.in_flight_max))
        self._calls = VariantCalls() if self.plan.at_once is None else QueuedCalls(self._soon_dispatch)
        self._apart = self._played_apart() if self._is_separable() else None
        self._traffic = self._calls.traffic
        make_policy = self.make_policy or partial(policy, self.plan.machine.policy)
        told = self.recorded if self._apart is None or self.recorded is None else self._apart.decided
        self._maker = InstanceMaker(
            self.plan.machine, self.profiles, self._files, self._calls, self.counts, make_policy, told, self.spread,
            self.container_spreads,
        )  # fmt: skip
        learned, sizes = keep_alive(self.plan.keep_alive, self.plan.idle_s), self.plan.sizes
        self._sizing = None if sizes is None else SizingRounds(self.kernel, self, sizes, learned, self._calls.traffic)
        self.over, self._beginning = False, self.plan.begun
        self.scale(self.plan.instances)
        self._beginning = False

    def _is_direct(self) -> bool:
        """Whether each request is for an instance at once, which serves it by one container."""
        made = self._sizing, self.plan.at_once, self.choose, self._pipeline, self.plan.machine.models_rest
        return all(one is None for one in made) and self._most == inf

    def _is_separable(self) -> bool:
        """Whether nothing but placement joins its instances, which are always on: no limit on all requests in flight,
        no queue, no file that several share, and no times drawn in turn."""
        plan, machine = self.plan, self.plan.machine
        if plan.instances < self.apart_min or not plan.begun or plan.sizes is not None or plan.at_once is not None:
            return False
        if self._pipeline is not None or machine.models_rest is not None or self._most < inf:
            return False
        return self.choose is None and self.make_policy is None and self.spread.exact and not self._files.any_shared

    def _played_apart(self) -> PlayedApart:
        self._calls, self.counts = calls, counts = CallsApart(), CountsApart()
        bounds = BusyBounds(self.plan.machine, self.profiles, self._ready.busy_min)
        return PlayedApart(self.kernel, self.handovers, calls, counts, self.recorded, self.on_calls, bounds)

    def run(self, trace: Trace) -> None:
        """Play the whole trace, and then what is still in flight. Memory does not grow with the length of the trace."""
        if self._sizing is not None:
            self.kernel.at(0.0, self._sizing.round, None)
        play = self._play if self._apart is None else self._apart.play
        play(trace)
        self.lasts_s = trace.lasts_s or 0.0
        self.over = True
        if self._apart is not None:
            self._apart.finish()
        self.kernel.run()
        self._tell()
        for life in self._wanted.values():
            life.ended_s = max(self.lasts_s, self.kernel.now_s)

    def _play(self, trace: Trace) -> None:
        last = self._arrive if self.plan.at_once is None else self._queue
        arrive = self._arrive_directly if self._is_direct() else last
        for times_s, models in call_batches(trace):
            self.kernel.play(zip(times_s[:-1], models, strict=False), arrive)
            self.kernel.play(zip(times_s[-1:], models, strict=True), last)
            self._tell()

    @property
    def size(self) -> int:
        """The instances that are ready or starting."""
        return len(self._wanted)

    @property
    def stopping(self) -> bool:
        """Whether an instance is stopping."""
        return bool(self._draining)

    @property
    def in_flight(self) -> int:
        """The requests that have come and are not answered."""
        return self._calls.traffic.demand if self._apart is None else self._ready.in_flight

    @property
    def quiet(self) -> bool:
        """Whether nothing more will happen: the trace is over, all requests have ended, and no instance may stop."""
        least = len(self._wanted) if self.plan.sizes is None else self.plan.sizes.floor
        over = self.over and self.kernel.now_s >= self.lasts_s
        return over and not self.in_flight and len(self._wanted) <= least

    def reading(self) -> VariantReading:
        tiers = [instance.memory for instance in self._ready]
        models, planned_bytes = sum(1 for tier in tiers for _ in tier), sum(tier.planned_bytes for tier in tiers)
        return VariantReading(self.kernel.now_s, len(self._wanted), self.in_flight, models, planned_bytes)

    def planned_bytes(self) -> dict[str, int]:
        """By slot, the bytes of the models in the memory of each ready instance, and of those being loaded."""
        return {instance.slot: instance.memory.planned_bytes for instance in self._ready}

    # -- requests --------------------------------------------------------------------------------------------------
    def _tell(self) -> None:
        if done := self._calls.done:
            self._calls.done = []
            self.on_calls(done)

    def _arrive_directly(self, model: str) -> None:
        """As `_arrive`, where that is direct, for a request after which another one comes before any is reported."""
        if self._ready.count:
            self._traffic.came(self.kernel.now_s)
            self.handovers.chosen(model).arrive(model)
        else:
            self._arrive(model)

    def _arrive(self, model: str) -> None:
        now_s, traffic = self.kernel.now_s, self._traffic
        call = SimulatedCall(model, now_s) if self.choose is None else self.choose(model, now_s, self._ready)
        if traffic.in_flight >= self._most:
            self._calls.turned_away(call, self.counts, dropped=self.in_flight_max == self._most)
            return
        if self._sizing is not None and self._sizing.skipped_since_s < inf:
            self._sizing.resume(floor(now_s) + PERIOD_S)
        traffic.came(now_s)
        if self._ready.count:
            self._send(call)
            return
        self._held.append(call)
        if not self._wanted:
            self.counts.wakes += 1
            self.scale(1)

    def _send(self, call: SimulatedCall) -> None:
        """Send a request to the instance that placement picks. There is one."""
        pipeline = self._pipeline
        (self.handovers.chosen(call.model) if pipeline is None else pipeline.chosen(call, self.kernel.now_s)).ask(call)

    # -- requests of an asynchronous variant -----------------------------------------------------------------------
    def _queue(self, model: str) -> None:
        now_s = self.kernel.now_s
        if self._sizing is not None and self._sizing.skipped_since_s < inf:
            self._sizing.resume(floor(now_s) + PERIOD_S)
        self._held.append(SimulatedCall(model, now_s))
        self._calls.traffic.queued = len(self._held)
        if not self._wanted:
            self.counts.wakes += 1
            self.scale(1)
        self._dispatch(self._held)

    def _soon_dispatch(self) -> None:
        if self._held:
            self.kernel.soon(self._dispatch, self._held)

    def _dispatch(self, queue: deque[SimulatedCall]) -> None:
        """Send the requests of the queue in their order, as many as the ready instances may have."""
        at_once, traffic = self.plan.at_once, self._calls.traffic
        assert at_once is not None
        while queue and traffic.in_flight < at_once * len(self._ready):
            call = queue.popleft()
            traffic.queued = len(queue)
            traffic.came(self.kernel.now_s)
            self._send(call)

    # -- instances -------------------------------------------------------------------------------------------------
    def scale(self, size: int) -> None:
        """Start and retire instances until there are `size`."""
        number = 0
        while len(self._wanted) < size:
            slot = intern(f"endpoint/variant/{number}")  # the endpoint's own form
            if slot not in self._wanted and slot not in self._draining:
                self._start(SimulatedLife(slot, self.kernel.now_s))
            number += 1
        for slot in sorted(self._wanted, key=self._stays)[size:]:
            self._retire(slot)

    def _stays(self, slot: str) -> tuple[bool, int]:
        """The sort key of slots: the lowest stay the longest. As in the endpoint, starting instances go first."""
        return self._ready.get(_number(slot)) is None, _number(slot)

    def _start(self, life: SimulatedLife) -> None:
        self._wanted[life.slot] = life
        self.lives.append(life)
        if self._beginning:
            self._become_ready(life)
        else:
            self.kernel.after(self.plan.machine.wake_s * self.spread.wake(), self._become_ready, life)

    def _become_ready(self, life: SimulatedLife) -> None:
        if self._wanted.get(life.slot) is not life:
            return  # the instance was retired meanwhile
        life.ready_s = self.kernel.now_s
        kernel = self.kernel if self._apart is None else Kernel()
        instance = self._maker.make(life.slot, kernel, self._close)
        self._ready.offer(_number(life.slot), instance)
        if self._apart is not None:
            self._apart.add(instance, kernel)
        if self._held:
            self.kernel.soon(self._route_held if self.plan.at_once is None else self._dispatch, self._held)
        if self.plan.machine.models_rest is not None:
            instance.idle.rest_while(lambda: life.ended_s is None and not self.quiet)

    def _route_held(self, held: deque[SimulatedCall]) -> None:
        """Route the held requests, after all instances that become ready at this moment are ready."""
        while held and len(self._ready):
            self._send(held.popleft())

    def _retire(self, slot: str) -> None:
        life = self._wanted.pop(slot)
        life.retired_s = self.kernel.now_s
        instance = self._ready.withdraw(_number(slot))
        if instance is None:
            life.ended_s = self.kernel.now_s
            return
        self._draining[slot] = life, instance
        instance.retired = True
        if not instance.in_flight:
            self._close(slot)

    def _close(self, slot: str) -> None:
        """Stop an instance whose requests have all ended, once its models are unloaded."""
        instance, now_s = self._draining[slot][1], self.kernel.now_s
        instance.rest_no_more()
        if instance.leaving_until_s > now_s:
            self.kernel.at(min(instance.leaving_until_s, now_s + CLOSE_S), self._gone, slot)
        else:
            self._gone(slot)

    def _gone(self, slot: str) -> None:
        life, instance = self._draining.pop(slot)
        life.ended_s = self.kernel.now_s
        self._files.ended(instance.memory)
        self._maker.disks[slot] = dict(instance.disk.stored)  # what still ends here must not change the next one's disk


def _number(slot: str) -> int:
    return int(slot.rpartition("/")[2])
