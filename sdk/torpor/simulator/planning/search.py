"""The search for the cheapest scenario that meets a goal: which scenarios are tried, in which order, and when it ends.

The price of an always-on variant is known before it is simulated. So these are tried first, from the cheapest up, until
one meets the goal. The price of a variant that sleeps or scales depends on its traffic. So it is simulated for the
instances that meet the goal when always on, and for dearer ones: up to twice the price, and no more instances; with
each policy, if models are evicted. Hopeless simulations are stopped early. Of a long trace, the busiest stretch is
simulated before the rest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from torpor.simulator.costs.single_models import alone
from torpor.simulator.costs.ways_to_serve import MONTH_H
from torpor.simulator.engine.latency_histogram import Latencies
from torpor.simulator.pipeline_containers import passing_s
from torpor.simulator.planning.late_requests import Hopeless, LateCount
from torpor.simulator.planning.plan_space import Goal, PlanSpace, usd_of_hour
from torpor.simulator.planning.trace_bounds import TraceBounds
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import run
from torpor.workloads import awake_s
from torpor_endpoint.core.pricing.prices import Prices

LATE_MAX = 2
"""With the first policy, a simulation is stopped after this multiple of the allowed late requests: how far it is from
the goal is worth knowing. Every policy is tried, since one may miss each request that another hits, as LRU in a
loop."""
DEARER_MAX = 2.0
"""The highest price that is tried for an instance that may sleep, as a multiple of the always-on one's."""
CENT = 0.01
SAVES_MIN = 0.01
"""A scenario that cannot save more than this share of the price is not simulated over a long trace."""


@dataclass(frozen=True, eq=False)
class PlanCandidate:
    """A scenario that was tried. It meets the goal if `why_not` is empty: with each seed that it was simulated with."""

    scenario: Scenario
    why_not: str
    results: Sequence[SimulationResult] = ()  # one a seed, the search's own first; none if not simulated to its end
    peak_late: int | None = None  # late requests in a long trace's busiest stretch; None if that was not simulated
    simulated: bool = True  # False if no policy could have met the goal
    late_so_far: float | None = None  # of one that was stopped early: the share of late requests until then

    @property
    def meets(self) -> bool:
        return not self.why_not

    @property
    def result(self) -> SimulationResult | None:
        """That with the search's own seed; None if it was not simulated to its end."""
        return self.results[0] if self.results else None

    def confirmed(self, others: Sequence[SimulationResult], goal: Goal) -> "PlanCandidate":
        """The candidate with its results with other seeds too. It meets the goal if the worst of them does."""
        results = (*self.results, *others)
        return replace(self, results=results, why_not=_why_not(results, goal))


@dataclass(frozen=True, eq=False)
class PeakTrial:
    """The busiest stretch of a long trace, with the requests before it, which warm the models up. Of the stretch, at
    most `late_max` requests may be late."""

    inputs: SimulationInputs
    since_s: float
    late_max: int


@dataclass(eq=False)
class Search:
    """One search. `says` is called with what is tried next; `tried` has all candidates in the order of trial."""

    inputs: SimulationInputs
    goal: Goal
    space: PlanSpace
    prices: Prices
    says: Callable[[str], None]
    peak: PeakTrial | None = None  # what is simulated first; None: the whole trace at once
    tried: list[PlanCandidate] = field(default_factory=list)
    _awake: dict[float, float] = field(default_factory=dict, init=False)  # the least share of time awake, by keep-alive

    def found(self) -> list[PlanCandidate]:
        """The candidates that meet the goal, the cheapest first; an always-on one before one that saves less than a
        cent."""
        always = self._always_on()
        found = [] if always is None else [always]
        for served in [] if always is None else self._to_be_scaled(always):
            for scenarios in filter(None, self.space.scaled(served)):
                found.extend(self._serving(scenarios))
        return sorted(found, key=lambda one: round(self._usd(one), 2))

    def as_cheap(self, best: PlanCandidate) -> list[PlanCandidate]:
        """The candidates that meet the goal at the same price as this always-on one: with another policy, if models
        were evicted, or on other instances. One of them may have fewer late requests."""
        if best.result is None or best.scenario.scaled is not None or not self.goal.late(best.result):
            return []
        usd = self.usd_always(best.scenario)
        alike = [one for one in self.space.always_on(self.prices) if abs(self.usd_always(one) - usd) < CENT]
        return [tried for one in alike for tried in self._with_each_policy(one, best) if tried.meets]

    def _with_each_policy(self, scenario: Scenario, best: PlanCandidate) -> Iterator[PlanCandidate]:
        """Try the policies that were not tried yet; one is enough if no model is evicted."""
        done = {one.scenario: one for one in self.tried}
        for policy in self.space.policies:
            changed = scenario.altered(policy=policy)
            known = best if changed == best.scenario else done.get(changed)
            if known is None:
                known = self._try(changed)
                yield known
            if known.result is not None and not known.result.evictions:
                return

    def rank(self, candidate: PlanCandidate) -> tuple[float, int]:
        """The sort key, lowest first: the price; of equal prices, the number of late requests."""
        late = 0 if candidate.result is None else self.goal.late(candidate.result)
        return round(self._usd(candidate), 2), late

    def smallest_type(self) -> str:
        """The cheapest type with room for the largest model; the largest type if none has."""
        types = [one.altered(memory_bytes=None) for one in self.space.always_on(self.prices) if one.instances == 1]
        enough = (one for one in types if one.models_bytes >= self.largest_bytes)
        return next(enough, max(types, key=lambda one: one.models_bytes)).instance_type

    def too_large(self) -> str:
        """A note on the largest model if no instance has room for it, or an empty text."""
        room_bytes = max(one.models_bytes for one in self.space.always_on(self.prices))
        return self._why_too_large(room_bytes)

    @cached_property
    def bounds(self) -> TraceBounds:
        return TraceBounds.of(self.inputs, self.goal.late_s)

    @cached_property
    def floor(self) -> Latencies:
        """The latencies of predictions alone: with every model in memory, and without a queue. Of a pipeline, the other
        containers add the least that they may take."""
        like = self.space.like
        return alone(self.inputs, like.overhead_s + passing_s(like.containers, quickest=True))

    @property
    def late_max(self) -> int:
        return self.goal.late_max(self.bounds.requests)

    def played(self, scenario: Scenario) -> SimulationResult | None:
        """The result over the whole trace; None if it was stopped, since too many requests were late."""
        return self._run(self.inputs, scenario, self._late_count(self.late_max * LATE_MAX, scenario))

    # -- one after the other ---------------------------------------------------------------------------------------
    def _always_on(self) -> PlanCandidate | None:
        """The cheapest always-on candidate that meets the goal."""
        for scenario in self.space.always_on(self.prices):
            for policy in self.space.policies:
                candidate = self._try(scenario.altered(policy=policy))
                if candidate.meets:
                    return candidate
                if not candidate.simulated:
                    break
        return None

    def _serving(self, scenarios: Sequence[Scenario]) -> Iterator[PlanCandidate]:
        """Of these, which go from cheap to dear, the first that meets the goal with each policy. A policy changes what
        a variant costs that sleeps or scales, since loads keep instances awake. Where no model is evicted, one policy
        is enough; where one meets the goal, the dearer scenarios are not tried with another."""
        first = scenarios[0].policy
        for policy in (first, *(one for one in self.space.policies if one != first)):
            evicted = False
            for number, scenario in enumerate(scenarios, 1):
                candidate = self._try(scenario.altered(policy=policy))
                evicted = evicted or candidate.result is None or bool(candidate.result.evictions)
                if candidate.meets:
                    yield candidate
                    scenarios = scenarios[:number]
                    break
                if not candidate.simulated:
                    break
            if not evicted:
                return

    def _to_be_scaled(self, always: PlanCandidate) -> Iterator[Scenario]:
        """The always-on scenario that meets the goal, and dearer ones with no more instances."""
        served = always.scenario
        yield served
        usd = self.usd_always(served)
        for one in self.space.always_on(self.prices):
            same = (one.instance_type, one.instances) == (served.instance_type, served.instances)
            if not same and usd <= self.usd_always(one) <= DEARER_MAX * usd and one.instances <= served.instances:
                yield one.altered(policy=self.space.policies[0])

    def _try(self, scenario: Scenario) -> PlanCandidate:
        candidate = self.judged(scenario)
        self.tried.append(candidate)
        return candidate

    def judged(self, scenario: Scenario) -> PlanCandidate:
        """The scenario as a candidate: simulated to its end, stopped early, or not simulated where it is known to be of
        no use."""
        self.says(scenario.name)
        if why_not := self.why_impossible(scenario):
            return PlanCandidate(scenario, why_not, simulated=False)
        peak_late = None
        if self.peak is not None:
            if why_not := self._why_no_saving(scenario):
                return PlanCandidate(scenario, why_not)
            late = self._late_count(self.peak.late_max, scenario, self.peak.since_s)
            if self._run(self.peak.inputs, scenario, late) is None:
                why_not = f"over {self.peak.late_max:,} requests of the busiest stretch are late"
                return PlanCandidate(scenario, why_not, late_so_far=late.share)
            peak_late = late.late
            self.says(f"{scenario.name}, all of the trace")
        late_max = self.late_max * (LATE_MAX if scenario.policy == self.space.policies[0] else 1)
        late = self._late_count(late_max, scenario)
        result = self._run(self.inputs, scenario, late)
        if result is None:
            why_not = f"over {late_max:,} requests are late; it was stopped early"
            return PlanCandidate(scenario, why_not, (), peak_late, late_so_far=late.share)
        return PlanCandidate(scenario, _why_not([result], self.goal), [result], peak_late)

    def _late_count(self, late_max: int, scenario: Scenario, since_s: float = 0.0) -> LateCount:
        return LateCount(self.goal.late_s - scenario.overhead_s, late_max, since_s)

    def _run(self, inputs: SimulationInputs, scenario: Scenario, late: LateCount) -> SimulationResult | None:
        """The result; None if it was stopped early."""
        try:
            return run(inputs, scenario, listener=late)
        except Hopeless:
            return None

    def why_impossible(self, scenario: Scenario) -> str:
        """Why the scenario cannot meet the goal, as far as that is known without a simulation."""
        room_bytes = scenario.models_bytes
        if too_large := self._why_too_large(room_bytes):
            return too_large
        if self.peak is not None and (late := self.floor.count - self.floor.within(self.goal.slo_s)) > self.late_max:
            return f"{late:,} requests are late by the time of their prediction alone"
        if scenario.model_idle_s is not None and scenario.model_keep_alive != "fixed":
            return ""  # models may be loaded before they are called
        most = scenario.instances if scenario.scaled is None else scenario.scaled.ceiling
        late = self.bounds.late_min(most * room_bytes)
        return f"{late:,} requests or more are late, with any policy" if late > self.late_max else ""

    def _why_no_saving(self, scenario: Scenario) -> str:
        """Why a scenario that sleeps or scales cannot save enough to be worth a simulation."""
        if scenario.instances_min == 0 and self._awake_min(scenario) > 1 - SAVES_MIN:
            return "its requests keep it awake"  # a scaled one without sleep is tried too
        usd = self.usd_least(scenario)
        found = min((self._usd(one) for one in self.tried if one.meets), default=inf)
        if scenario.scaled is None or usd <= (1 - SAVES_MIN) * found:
            return ""
        return f"it costs ${usd:,.2f} a month or more, which saves nothing"

    def _awake_min(self, scenario: Scenario) -> float:
        """The least number of instances on average; 0 if the keep-alive learns, since that cannot be known."""
        if scenario.instances_min != 0:
            return float(scenario.instances_min or 0)
        if scenario.keep_alive != "fixed":
            return 0.0
        if scenario.idle_s not in self._awake:
            awake, lasts_s = awake_s(self.inputs.trace, scenario.idle_s)
            self._awake[scenario.idle_s] = awake / lasts_s
        return self._awake[scenario.idle_s]

    @property
    def largest_bytes(self) -> int:
        """The bytes in memory of the largest model that is called."""
        return self.inputs.profile(self.bounds.largest).memory_bytes

    def _why_too_large(self, room_bytes: int) -> str:
        needed_bytes = self.largest_bytes
        if needed_bytes <= room_bytes:
            return ""
        return f"{self.bounds.largest} needs {needed_bytes:,} bytes of memory, and an instance has {room_bytes:,}"

    def usd_least(self, scenario: Scenario) -> float:
        """The least that a month of the scenario's instances can cost, known without a simulation; 0 if it is
        serverless, which pays for its requests."""
        if scenario.serverless is not None:
            return 0.0
        if scenario.scaled is None:
            return self.usd_always(scenario)
        return self.usd_always(scenario.altered(instances=1)) * self._awake_min(scenario)

    def usd_always(self, scenario: Scenario) -> float:
        """The price of a month, always on."""
        return (usd_of_hour(scenario.instance_type, self.prices) or inf) * scenario.instances * MONTH_H

    def _usd(self, candidate: PlanCandidate) -> float:
        usd = None if candidate.result is None else candidate.result.usd_per_month(self.prices)
        return inf if usd is None else usd


# -- inside ------------------------------------------------------------------------------------------------------------
def _why_not(results: Sequence[SimulationResult], goal: Goal) -> str:
    """Why a scenario does not meet the goal, by its worst seed; empty if it does."""
    worst = goal.worst(results)
    if goal.met(worst):
        return ""
    seed = f", with seed {worst.seed}" if len(results) > 1 else ""
    return f"{worst.slo_misses(goal.slo_s):.2%} of the requests are late{seed}"
