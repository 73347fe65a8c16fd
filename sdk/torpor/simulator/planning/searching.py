"""The search for the cheapest scenario that meets a goal: what is tried, in which order, and when it ends.

An always-on variant has its price before it is simulated, so these are tried from the cheapest up, and the first one
that serves ends that. What sleeps, or is scaled, costs what its traffic makes of it: it is simulated for the instances
that serve when always on, and for those that are up to twice as dear and no more in number. Hopeless simulations are
broken off; of a long trace the busiest stretch is looked at before the rest is played.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from torpor.simulator.costs.alternatives import MONTH_H
from torpor.simulator.costs.single_models import alone
from torpor.simulator.engine.calls import SimulatedCall
from torpor.simulator.engine.latency import Latencies
from torpor.simulator.inputs import SimulationInputs
from torpor.simulator.outcome import Result
from torpor.simulator.planning.bounds import TraceBounds
from torpor.simulator.planning.space import Goal, Space
from torpor.simulator.running import run
from torpor.simulator.scenario import Scenario
from torpor.workloads import awake_s
from torpor_endpoint.core.pricing.prices import Prices

LATE_MAX = 2
"""So many times as many late requests as are allowed are simulated with the first policy: how far it is from the goal
is worth knowing. Every policy is tried, since one may lose each call that another one keeps, as LRU does in a loop."""
DEARER_MAX = 2.0
"""So many times as dear may an instance be that is awake for a part of the time only."""
CENT = 0.01
SAVES_MIN = 0.01
"""What can save no more than this part of the price is not played over a long trace."""


@dataclass(frozen=True, eq=False)
class PlanCandidate:
    """A scenario that was looked at. It meets the goal if nothing says why not."""

    scenario: Scenario
    why_not: str
    result: Result | None = None  # None where it was not simulated to its end
    peak_late: int | None = None  # so many of a long trace's busiest stretch; None where that was not simulated either
    simulated: bool = True  # False where that could not help, whatever the policy

    @property
    def meets(self) -> bool:
        return not self.why_not


@dataclass(frozen=True, eq=False)
class Glance:
    """The busiest stretch of a long trace, and what comes before it. Of the stretch only so many may be late."""

    inputs: SimulationInputs
    since_s: float
    late_max: int


@dataclass(eq=False)
class Search:
    inputs: SimulationInputs
    goal: Goal
    space: Space
    prices: Prices
    says: Callable[[str], None]
    glance: Glance | None = None  # what is simulated first; None: nothing but all of it
    tried: list[PlanCandidate] = field(default_factory=list)
    _awake: dict[float, float] = field(default_factory=dict, init=False)  # the least share of the time, by keep-alive

    def found(self) -> list[PlanCandidate]:
        """Those that meet the goal, the cheapest first; what is always on before what saves less than a cent."""
        always = self._always_on()
        found = [] if always is None else [always]
        for served in [] if always is None else self._to_be_scaled(always):
            for way in self.space.scaled(served):
                serving = (one for one in map(self._try, way) if one.meets)
                found.extend(one for one in [next(serving, None)] if one is not None)
        return sorted(found, key=lambda one: round(self._usd(one), 2))

    def as_cheap(self, best: PlanCandidate) -> list[PlanCandidate]:
        """What costs the same as this one, which never sleeps, and meets the goal too: with another policy where any
        model had to leave, or on other instances. One of them may be less late."""
        if best.result is None or best.scenario.scaled is not None or not self.goal.late(best.result):
            return []
        usd = self._usd_always(best.scenario)
        alike = [one for one in self.space.always_on(self.prices) if abs(self._usd_always(one) - usd) < CENT]
        return [tried for one in alike for tried in self._with_each_policy(one, best) if tried.meets]

    def _with_each_policy(self, scenario: Scenario, best: PlanCandidate) -> Iterator[PlanCandidate]:
        """Those that were not tried; one is enough where nothing has to leave memory."""
        done = {one.scenario: one for one in self.tried}
        for policy in self.space.policies:
            way = scenario.altered(policy=policy)
            known = best if way == best.scenario else done.get(way)
            if known is None:
                known = self._try(way)
                yield known
            if known.result is not None and not known.result.evictions:
                return

    def rank(self, candidate: PlanCandidate) -> tuple[float, int]:
        """The lower, the better: its price; of the same price, the share of late requests."""
        late = 0 if candidate.result is None else self.goal.late(candidate.result)
        return round(self._usd(candidate), 2), late

    def smallest_type(self) -> str:
        """The cheapest type with room for the largest model; the largest there is if none has."""
        types = [one.altered(memory_bytes=None) for one in self.space.always_on(self.prices) if one.instances == 1]
        enough = (one for one in types if one.models_bytes >= self._largest_bytes)
        return next(enough, max(types, key=lambda one: one.models_bytes)).instance_type

    def too_large(self) -> str:
        """What is to be said of the largest model if no instance has room for it."""
        room_bytes = max(one.models_bytes for one in self.space.always_on(self.prices))
        return self._without_room(room_bytes)

    @cached_property
    def asked(self) -> TraceBounds:
        return TraceBounds.of(self.inputs, self.goal.late_s)

    @cached_property
    def floor(self) -> Latencies:
        """Predicting by itself: every model in memory, and nobody waiting."""
        return alone(self.inputs, self.space.like.overhead_s)

    @property
    def late_max(self) -> int:
        return self.goal.late_max(self.asked.requests)

    # -- one after the other ---------------------------------------------------------------------------------------
    def _always_on(self) -> PlanCandidate | None:
        """The first that serves, by price."""
        for scenario in self.space.always_on(self.prices):
            for policy in self.space.policies:
                candidate = self._try(scenario.altered(policy=policy))
                if candidate.meets:
                    return candidate
                if not candidate.simulated:
                    break
        return None

    def _to_be_scaled(self, always: PlanCandidate) -> Iterator[Scenario]:
        """What serves, and dearer instances that are no more in number."""
        served = always.scenario
        yield served
        usd = self._usd_always(served)
        for one in self.space.always_on(self.prices):
            same = (one.instance_type, one.instances) == (served.instance_type, served.instances)
            if not same and usd <= self._usd_always(one) <= DEARER_MAX * usd and one.instances <= served.instances:
                yield one.altered(policy=self.space.policies[0])

    def _try(self, scenario: Scenario) -> PlanCandidate:
        self.says(scenario.name)
        candidate = self._looked_at(scenario)
        self.tried.append(candidate)
        return candidate

    def _looked_at(self, scenario: Scenario) -> PlanCandidate:
        if why_not := self._impossible(scenario):
            return PlanCandidate(scenario, why_not, simulated=False)
        peak_late = None
        if self.glance is not None:
            if why_not := self._no_saving(scenario):
                return PlanCandidate(scenario, why_not)
            late = self._late(self.glance.late_max, scenario, self.glance.since_s)
            if self._played(self.glance.inputs, scenario, late) is None:
                return PlanCandidate(
                    scenario, f"over {self.glance.late_max:,} requests of the busiest stretch are late"
                )
            peak_late = late.late
            self.says(f"{scenario.name}, all of the trace")
        late_max = self.late_max * (LATE_MAX if scenario.policy == self.space.policies[0] else 1)
        result = self._played(self.inputs, scenario, self._late(late_max, scenario))
        if result is None:
            return PlanCandidate(scenario, f"over {late_max:,} requests are late; it was broken off", None, peak_late)
        misses = result.slo_misses(self.goal.slo_s)
        why_not = "" if self.goal.met(result) else f"{misses:.2%} of the requests are late"
        return PlanCandidate(scenario, why_not, result, peak_late)

    def _late(self, late_max: int, scenario: Scenario, since_s: float = 0.0) -> "_Late":
        return _Late(self.goal.late_s - scenario.overhead_s, late_max, since_s)

    def _played(self, inputs: SimulationInputs, scenario: Scenario, late: "_Late") -> Result | None:
        """None where it was broken off."""
        try:
            return run(inputs, scenario, listener=late)
        except _Hopeless:
            return None

    def _impossible(self, scenario: Scenario) -> str:
        """What needs no simulation to be known."""
        room_bytes = scenario.models_bytes
        if too_large := self._without_room(room_bytes):
            return too_large
        if self.glance is not None and (late := self.floor.count - self.floor.within(self.goal.slo_s)) > self.late_max:
            return f"{late:,} requests are late by what predicting alone takes"
        if scenario.model_idle_s is not None and scenario.model_keep_alive != "fixed":
            return ""  # models come before they are called
        most = scenario.instances if scenario.scaled is None else scenario.scaled.ceiling
        late = self.asked.late_min(most * room_bytes)
        return f"{late:,} requests or more are late, with any policy" if late > self.late_max else ""

    def _no_saving(self, scenario: Scenario) -> str:
        """Of what is scaled: why it is as dear as what is not."""
        awake = self._awake_min(scenario)
        if scenario.instances_min == 0 and awake > 1 - SAVES_MIN:
            return "its requests keep it awake"  # with one more at times: that is tried without sleep too
        usd = self._usd_always(scenario.altered(instances=1)) * awake
        found = min((self._usd(one) for one in self.tried if one.meets), default=inf)
        if scenario.scaled is None or usd <= (1 - SAVES_MIN) * found:
            return ""
        return f"it costs ${usd:,.2f} a month or more, which saves nothing"

    def _awake_min(self, scenario: Scenario) -> float:
        """So many instances run at the least, on the average; nobody knows of a keep-alive that learns."""
        if scenario.instances_min != 0:
            return float(scenario.instances_min or 0)
        if scenario.keep_alive != "fixed":
            return 0.0
        if scenario.idle_s not in self._awake:
            awake, lasts_s = awake_s(self.inputs.trace, scenario.idle_s)
            self._awake[scenario.idle_s] = awake / lasts_s
        return self._awake[scenario.idle_s]

    @property
    def _largest_bytes(self) -> int:
        return self.inputs.profiles[self.asked.largest].memory_bytes

    def _without_room(self, room_bytes: int) -> str:
        needed_bytes = self._largest_bytes
        if needed_bytes <= room_bytes:
            return ""
        return f"{self.asked.largest} needs {needed_bytes:,} bytes of memory, and an instance has {room_bytes:,} of it"

    def _usd_always(self, scenario: Scenario) -> float:
        """A month of what is always on."""
        return (self.prices.usd_per_hour(scenario.instance_type) or inf) * scenario.instances * MONTH_H

    def _usd(self, candidate: PlanCandidate) -> float:
        usd = None if candidate.result is None else candidate.result.usd_per_month(self.prices)
        return inf if usd is None else usd


# -- inside ------------------------------------------------------------------------------------------------------------
class _Hopeless(Exception):
    """So many requests are late that the rest cannot make up for it."""


@dataclass(eq=False)
class _Late:
    """Counts the late ones, and ends it when they are too many."""

    late_s: float
    late_max: int
    since_s: float = 0.0  # who came earlier is not counted
    late: int = 0

    def __call__(self, calls: Sequence[SimulatedCall]) -> None:
        late_s, since_s = self.late_s, self.since_s
        late = (call.arrived_s for call in calls if call.failed or call.done_s - call.arrived_s > late_s)
        self.late += sum(arrived_s >= since_s for arrived_s in late)
        if self.late > self.late_max:
            raise _Hopeless
