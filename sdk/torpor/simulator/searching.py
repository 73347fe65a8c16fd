"""The search for the cheapest scenario that meets a goal: what is tried, in which order, and when it ends.

An always-on variant has its price before it is simulated, so these are tried from the cheapest up, and the first one
that serves ends that. What sleeps, or is scaled, costs what its traffic makes of it: it is simulated for the types and
numbers that serve when always on, up to twice as dear. Hopeless simulations are broken off.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from torpor.simulator.outcome import Result
from torpor.simulator.running import Given, run
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.site import Call
from torpor.simulator.ways import MONTH_H
from torpor_endpoint.core.prices import Prices

IDLE_S = (300.0, 1200.0, 3600.0)
"""The keep-alives that are tried, the cheapest first."""
SEARCHED = ("LRU", "SIEVE", "LFUDA", "GDSF")
"""The policies that are tried: each is the best one on some traffic."""
BUSY_MAX = 0.95
"""With its threads busy for more of the time, in the mean, an instance falls behind."""
DEARER_MAX = 2.0
"""So much dearer may an instance be that is awake for a part of the time only."""


@dataclass(frozen=True)
class Goal:
    """This share of the requests is to be answered within this time."""

    slo_s: float
    quantile: float = 0.99

    def __post_init__(self) -> None:
        if not 0 < self.slo_s < inf:
            raise BadScenario(f"the SLO is a positive number of seconds, not {self.slo_s}")
        if not 0 < self.quantile < 1:
            raise BadScenario(f"the quantile is above 0 and below 1, as 0.99, not {self.quantile}")

    def met(self, result: Result) -> bool:
        return result.slo_misses(self.slo_s) <= 1 - self.quantile

    def __str__(self) -> str:
        return f"{self.quantile * 100:.6g} % of the requests within {self.slo_s * 1000:,.4g} ms"


@dataclass(frozen=True)
class Space:
    """What may be chosen. Types without a price are left out: nobody could say what they cost."""

    instance_types: Sequence[str] | None = None  # None: all that have a price, and no GPU
    instances_max: int = 8
    policies: Sequence[str] = SEARCHED
    idle_s: Sequence[float] = IDLE_S  # none: it may not sleep
    like: Scenario = field(default_factory=Scenario)  # all that is not searched

    def __post_init__(self) -> None:
        if self.instances_max < 1:
            raise BadScenario(f"instances_max is at least 1, not {self.instances_max}")
        if not self.policies:
            raise BadScenario("policies: there is none to try")

    def always_on(self, prices: Prices) -> list[Scenario]:
        """By price. Raises BadScenario where there are none."""
        types = self.instance_types or [name for name, one in prices.types.items() if not one.gpus]
        usd = {name: usd for name in types if (usd := prices.usd_per_hour(name)) is not None}
        if not usd:
            raise BadScenario(f"instance_types: no price is known for {', '.join(types)}")
        counts = range(1, self.instances_max + 1)
        by_price = sorted((usd[name] * count, count, name) for name in usd for count in counts)
        return [
            self.like.altered(instance_type=name, instances=count, instances_min=None, instances_max=None)
            for _, count, name in by_price
        ]

    def scaled(self, served: Scenario) -> Iterator[Scenario]:
        """What does not run all the time, of what serves when it does; the cheapest first."""
        for idle_s in sorted(self.idle_s):
            yield served.altered(instances_min=0, instances_max=served.instances, instances=1, idle_s=idle_s)
        if served.instances > 1:
            yield served.altered(instances_min=1, instances_max=served.instances, instances=1)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A scenario that was looked at. It meets the goal if nothing says why not."""

    scenario: Scenario
    why_not: str
    result: Result | None = None  # None where it was not simulated to its end

    @property
    def meets(self) -> bool:
        return not self.why_not


@dataclass(frozen=True)
class Load:
    """What the trace asks for, whoever serves it."""

    requests: int
    busy_threads: float  # in the mean, if no request ever waited
    largest: str  # the model that was called and takes most memory


@dataclass(eq=False)
class Search:
    given: Given
    goal: Goal
    space: Space
    prices: Prices
    says: Callable[[str], None]
    tried: list[Candidate] = field(default_factory=list)

    def found(self) -> list[Candidate]:
        """Those that meet the goal, the cheapest first."""
        always = self._always_on()
        found = [] if always is None else [always]
        for served in [] if always is None else self._to_be_scaled(always):
            serving = (one for one in map(self._try, self.space.scaled(served)) if one.meets)
            found.extend(one for one in [next(serving, None)] if one is not None)
        return sorted(found, key=self._usd)

    def smallest_type(self) -> str:
        """The cheapest type with room for the largest model; the largest there is if none has."""
        needed_bytes = self.given.profiles[self.load.largest].memory_bytes
        types = [one for one in self.space.always_on(self.prices) if one.instances == 1]
        enough = (one for one in types if one.altered(memory_bytes=None).models_bytes >= needed_bytes)
        return next(enough, max(types, key=lambda one: one.models_bytes)).instance_type

    @cached_property
    def load(self) -> Load:
        """One reading of the trace."""
        counts, began_s, ended_s = np.zeros(0, np.int64), inf, 0.0
        for chunk in self.given.trace.chunks():
            size = len(self.given.trace.names)
            counts = np.pad(counts, (0, size - len(counts))) + np.bincount(chunk.models, minlength=size)
            began_s, ended_s = min(began_s, float(chunk.times_s[0])), float(chunk.times_s[-1])
        profiles = [self.given.profile(self.given.trace.names[number]) for number in np.flatnonzero(counts).tolist()]
        predict_s = np.array([profile.predict_s for profile in profiles])
        largest = max(profiles, key=lambda profile: profile.memory_bytes)
        busy_s = float(predict_s @ counts[counts > 0])
        return Load(int(counts.sum()), busy_s / (ended_s - began_s) if ended_s > began_s else 0.0, largest.name)

    # -- one after the other ---------------------------------------------------------------------------------------
    def _always_on(self) -> Candidate | None:
        """The first that serves, by price. Where the first policy is far from it, no other one is tried."""
        for scenario in self.space.always_on(self.prices):
            for policy in self.space.policies:
                candidate = self._try(scenario.altered(policy=policy))
                if candidate.meets:
                    return candidate
                if candidate.result is None:
                    break
        return None

    def _to_be_scaled(self, always: Candidate) -> Iterator[Scenario]:
        """What serves, and dearer instances that are no more in number."""
        yield always.scenario
        usd = self._usd(always)
        for one in self.space.always_on(self.prices):
            dear = (self.prices.usd_per_hour(one.instance_type) or inf) * one.instances * MONTH_H
            if usd < dear <= DEARER_MAX * usd and one.instances <= always.scenario.instances:
                yield one.altered(policy=self.space.policies[0])

    def _try(self, scenario: Scenario) -> Candidate:
        self.says(scenario.name)
        candidate = self._looked_at(scenario)
        self.tried.append(candidate)
        return candidate

    def _looked_at(self, scenario: Scenario) -> Candidate:
        if why_not := self._impossible(scenario):
            return Candidate(scenario, why_not)
        late_max = int((1 - self.goal.quantile) * self.load.requests)
        late = _Late(self.goal.slo_s - scenario.overhead_s, 2 * late_max)
        try:
            result = run(self.given, scenario, listener=late)
        except _Hopeless:
            return Candidate(scenario, f"over {2 * late_max:,} requests are late; it was broken off")
        misses = result.slo_misses(self.goal.slo_s)
        return Candidate(scenario, "" if self.goal.met(result) else f"{misses:.2%} of the requests are late", result)

    def _impossible(self, scenario: Scenario) -> str:
        """What needs no simulation to be known."""
        needed_bytes, room_bytes = self.given.profiles[self.load.largest].memory_bytes, scenario.models_bytes
        if needed_bytes > room_bytes:
            return f"{self.load.largest} needs {needed_bytes:,} bytes, and an instance has {max(0, room_bytes):,}"
        most = scenario.instances if scenario.scaled is None else scenario.scaled.ceiling
        busy = self.load.busy_threads / (scenario.plan.machine.threads * most)
        return f"its threads would be busy for {busy:.0%} of the time" if busy > BUSY_MAX else ""

    def _usd(self, candidate: Candidate) -> float:
        usd = None if candidate.result is None else candidate.result.usd_per_month(self.prices)
        return inf if usd is None else usd


# -- inside ------------------------------------------------------------------------------------------------------------
class _Hopeless(Exception):
    """So many requests are late that the rest cannot make up for it: not even with another policy."""


@dataclass
class _Late:
    """Counts the late ones, and ends it when they are too many."""

    slo_s: float
    late_max: int
    late: int = 0

    def __call__(self, calls: Sequence[Call]) -> None:
        slo_s = self.slo_s
        self.late += sum(call.failed or call.done_s - call.arrived_s > slo_s for call in calls)
        if self.late > self.late_max:
            raise _Hopeless
