"""The search for the cheapest scenario that meets a goal: what is tried, in which order, and when it ends.

An always-on variant has its price before it is simulated, so these are tried from the cheapest up, and the first one
that serves ends that. What sleeps, or is scaled, costs what its traffic makes of it: it is simulated for the instances
that serve when always on, and for those that are up to twice as dear and no more in number. Hopeless simulations are
broken off; of a long trace the busiest stretch is looked at before the rest is played.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, exp, floor, inf

import numpy as np

from torpor.simulator.apart import alone
from torpor.simulator.kinds import COUNT, SHARE, SLO, Kind, a, check, optional, several
from torpor.simulator.latency import BINS_PER_E, Floats, Latencies
from torpor.simulator.outcome import Result
from torpor.simulator.running import Given, run
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.site import Call
from torpor.simulator.ways import MONTH_H
from torpor.simulator.workloads import awake_s
from torpor.simulator.workloads.trace import Ids
from torpor_container.core.policies import OFFLINE
from torpor_endpoint.core.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.prices import Prices

IDLE_S = (300.0, 1200.0, 3600.0)
"""The keep-alives that are tried, the cheapest first."""
SEARCHED = ("LRU", "SIEVE", "LFUDA", "GDSF")
"""The policies that are tried: each is the best one on some traffic."""
LATE_MAX = 2
"""So many times as many late requests as are allowed are simulated with the first policy: how far it is from the goal
is worth knowing. Every policy is tried, since one may lose each call that another one keeps, as LRU does in a loop."""
DEARER_MAX = 2.0
"""So many times as dear may an instance be that is awake for a part of the time only."""
SAVES_MIN = 0.01
"""What can save no more than this part of the price is not played over a long trace."""
SPREAD_MAX = 6.0
"""No load is quicker than by so many standard deviations: one in a thousand million would be."""
EXACT = 1e-6
"""What binary fractions are off by: 10 % of 10 requests are 1, and not a trifle less."""


SPACE: Mapping[str, Kind] = {
    "instance_types": optional(several("['ml.m5.large']")),
    "instances_max": COUNT,
    "policies": several("['LRU', 'GDSF']"),
    "idle_s": several("[300.0, 1200.0]"),
    "like": a(Scenario, "is a torpor.Scenario"),
}


@dataclass(frozen=True)
class Goal:
    """This share of the requests is to be answered within this time."""

    slo_s: float
    quantile: float = 0.99

    def __post_init__(self) -> None:
        check(BadScenario, {"slo_s": SLO, "quantile": SHARE}, self.__dict__)

    def met(self, result: Result) -> bool:
        return self.late(result) <= self.late_max(result.requests)

    def late(self, result: Result) -> int:
        return round(result.slo_misses(self.slo_s) * result.requests)

    @property
    def late_s(self) -> float:
        """Who took longer is late by any account: what is counted in bins is forgiven up to the end of the SLO's."""
        return self.slo_s * exp(1 / BINS_PER_E)

    def late_max(self, requests: int) -> int:
        """So many of them may be late."""
        return floor((1 - self.quantile) * requests + EXACT)

    def __str__(self) -> str:
        return f"{self.quantile * 100:.6g} % of the requests within {self.slo_s * 1000:,.4g} ms"


@dataclass(frozen=True)
class Space:
    """What may be chosen. Raises BadScenario for what cannot be, or cannot be deployed."""

    instance_types: Sequence[str] | None = None  # None: the catalogue's that have a price, and no GPU
    instances_max: int = 8
    policies: Sequence[str] = SEARCHED
    idle_s: Sequence[float] = IDLE_S  # none: it may not sleep
    like: Scenario = field(default_factory=Scenario)  # all that is not searched

    def __post_init__(self) -> None:
        check(BadScenario, SPACE, self.__dict__)
        if not len(self.policies):
            raise BadScenario("policies: there is none to try")
        for policy in self.policies:
            if self.like.altered(policy=policy).policy.upper() in OFFLINE:
                raise BadScenario(f"policies: {policy} knows the trace, and cannot be deployed")
        for idle_s in self.idle_s:
            self.like.altered(idle_s=idle_s)
        for name in () if self.instance_types is None else self.instance_types:
            self.like.altered(instance_type=name)

    def always_on(self, prices: Prices) -> list[Scenario]:
        """By price. Raises BadScenario where one has no price: nobody could say what it costs."""
        types = list(() if self.instance_types is None else self.instance_types) or [
            name for name, one in prices.types.items() if _is_tried(name, one)
        ]
        usd = {name: usd for name in types if (usd := prices.usd_per_hour(name)) is not None}
        if unknown := [name for name in types if name not in usd]:
            raise BadScenario(f"instance_types: no price is known for {', '.join(unknown)}: give a list that has it")
        if not usd:
            raise BadScenario("instance_types: the prices are of no known type without a GPU: say which types")
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
    peak_late: int | None = None  # so many of a long trace's busiest stretch; None where that was not simulated either
    simulated: bool = True  # False where that could not help, whatever the policy

    @property
    def meets(self) -> bool:
        return not self.why_not


@dataclass(frozen=True, eq=False)
class Load:
    """What the trace asks for, whoever serves it. A slow model is one that is late whenever it has to be loaded."""

    requests: int
    span_s: float  # from the first to the last
    first: int  # calls that are the first of a model which is then late
    largest: str  # the model that was called and takes most memory
    slow: int  # calls of slow models
    slow_models: int
    kept: Floats  # the byte-seconds that it takes to keep slow models for so many of their next calls, at the least

    def late_min(self, room_bytes: int) -> int:
        """So many are late in this much memory, whatever the policy: it holds no more than its bytes times the span.

        Who is in time without a model that was kept has come near the end of a load, however long that was queued. The
        call before it at the same instance waited for the same load and is late: at least each second one is.
        """
        kept = int(np.searchsorted(self.kept, room_bytes * self.span_s, side="right"))
        return max(self.slow_models, ceil((self.slow - kept) / 2))


@dataclass(frozen=True, eq=False)
class Glance:
    """The busiest stretch of a long trace, and what comes before it. Of the stretch only so many may be late."""

    given: Given
    since_s: float
    late_max: int


@dataclass(eq=False)
class Search:
    given: Given
    goal: Goal
    space: Space
    prices: Prices
    says: Callable[[str], None]
    glance: Glance | None = None  # what is simulated first; None: nothing but all of it
    tried: list[Candidate] = field(default_factory=list)
    _awake: dict[float, float] = field(default_factory=dict, init=False)  # the least share of the time, by keep-alive

    def found(self) -> list[Candidate]:
        """Those that meet the goal, the cheapest first; what is always on before what saves less than a cent."""
        always = self._always_on()
        found = [] if always is None else [always]
        for served in [] if always is None else self._to_be_scaled(always):
            serving = (one for one in map(self._try, self.space.scaled(served)) if one.meets)
            found.extend(one for one in [next(serving, None)] if one is not None)
        return sorted(found, key=lambda one: round(self._usd(one), 2))

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
    def load(self) -> Load:
        """One reading of the trace."""
        trace, times_s, models = self.given.trace, list[Floats](), list[Ids]()
        for chunk in trace.chunks():
            times_s.append(chunk.times_s)
            models.append(chunk.models)
        return _load(np.concatenate(times_s), np.concatenate(models), trace.names, self.given, self.goal.late_s)

    @cached_property
    def floor(self) -> Latencies:
        """Predicting by itself: every model in memory, and nobody waiting."""
        return alone(self.given, self.space.like.overhead_s)

    @property
    def late_max(self) -> int:
        return self.goal.late_max(self.load.requests)

    # -- one after the other ---------------------------------------------------------------------------------------
    def _always_on(self) -> Candidate | None:
        """The first that serves, by price."""
        for scenario in self.space.always_on(self.prices):
            for policy in self.space.policies:
                candidate = self._try(scenario.altered(policy=policy))
                if candidate.meets:
                    return candidate
                if not candidate.simulated:
                    break
        return None

    def _to_be_scaled(self, always: Candidate) -> Iterator[Scenario]:
        """What serves, and dearer instances that are no more in number."""
        served = always.scenario
        yield served
        usd = self._usd_always(served)
        for one in self.space.always_on(self.prices):
            same = (one.instance_type, one.instances) == (served.instance_type, served.instances)
            if not same and usd <= self._usd_always(one) <= DEARER_MAX * usd and one.instances <= served.instances:
                yield one.altered(policy=self.space.policies[0])

    def _try(self, scenario: Scenario) -> Candidate:
        self.says(scenario.name)
        candidate = self._looked_at(scenario)
        self.tried.append(candidate)
        return candidate

    def _looked_at(self, scenario: Scenario) -> Candidate:
        if why_not := self._impossible(scenario):
            return Candidate(scenario, why_not, simulated=False)
        peak_late = None
        if self.glance is not None:
            if why_not := self._no_saving(scenario):
                return Candidate(scenario, why_not)
            late = self._late(self.glance.late_max, scenario, self.glance.since_s)
            if self._played(self.glance.given, scenario, late) is None:
                return Candidate(scenario, f"over {self.glance.late_max:,} requests of the busiest stretch are late")
            peak_late = late.late
            self.says(f"{scenario.name}, all of the trace")
        late_max = self.late_max * (LATE_MAX if scenario.policy == self.space.policies[0] else 1)
        result = self._played(self.given, scenario, self._late(late_max, scenario))
        if result is None:
            return Candidate(scenario, f"over {late_max:,} requests are late; it was broken off", None, peak_late)
        misses = result.slo_misses(self.goal.slo_s)
        why_not = "" if self.goal.met(result) else f"{misses:.2%} of the requests are late"
        return Candidate(scenario, why_not, result, peak_late)

    def _late(self, late_max: int, scenario: Scenario, since_s: float = 0.0) -> "_Late":
        return _Late(self.goal.late_s - scenario.overhead_s, late_max, since_s)

    def _played(self, given: Given, scenario: Scenario, late: "_Late") -> Result | None:
        """None where it was broken off."""
        try:
            return run(given, scenario, listener=late)
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
        late = self.load.late_min(most * room_bytes)
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
            awake, lasts_s = awake_s(self.given.trace, scenario.idle_s)
            self._awake[scenario.idle_s] = awake / lasts_s
        return self._awake[scenario.idle_s]

    @property
    def _largest_bytes(self) -> int:
        return self.given.profiles[self.load.largest].memory_bytes

    def _without_room(self, room_bytes: int) -> str:
        needed_bytes = self._largest_bytes
        if needed_bytes <= room_bytes:
            return ""
        return f"{self.load.largest} needs {needed_bytes:,} bytes of memory, and an instance has {room_bytes:,} of it"

    def _usd_always(self, scenario: Scenario) -> float:
        """A month of what is always on."""
        return (self.prices.usd_per_hour(scenario.instance_type) or inf) * scenario.instances * MONTH_H

    def _usd(self, candidate: Candidate) -> float:
        usd = None if candidate.result is None else candidate.result.usd_per_month(self.prices)
        return inf if usd is None else usd


# -- inside ------------------------------------------------------------------------------------------------------------
def _is_tried(name: str, one: InstanceType) -> bool:
    """Without being named. A price list also has types that nobody can deploy here."""
    return name in CATALOGUE and not one.gpus and bool(one.usd_per_hour)


def _load(times_s: Floats, models: Ids, names: Sequence[str], given: Given, late_s: float) -> Load:
    """Where two calls of a model are both in time, it was kept from when the first one had it, which is no later than
    `late_s` after it came."""
    called, place = np.unique(models, return_inverse=True)
    profiles = [given.profile(names[number]) for number in called.tolist()]
    quickest = exp(-SPREAD_MAX * given.spreads.load_sigma)
    bytes_ = np.array([one.memory_bytes for one in profiles], np.float64)
    predict_s = np.array([one.predict_delay_s + one.predict_s for one in profiles])
    load_s = np.array([one.into_memory_s for one in profiles])
    pull_s = np.array([one.pull_s for one in profiles]) + load_s
    slow = load_s * quickest > late_s
    order = np.argsort(place, kind="stable")
    gaps_s, again = np.diff(times_s[order]), np.diff(place[order]) == 0
    which = place[order][1:]
    kept = bytes_[which] * np.maximum(0.0, gaps_s - late_s)
    return Load(
        len(times_s),
        float(times_s[-1] - times_s[0]),
        int((pull_s + predict_s > late_s).sum()),
        names[int(called[bytes_.argmax()])],
        int(slow[place].sum()),
        int(slow.sum()),
        np.cumsum(np.sort(kept[again & slow[which]])),
    )


class _Hopeless(Exception):
    """So many requests are late that the rest cannot make up for it."""


@dataclass(eq=False)
class _Late:
    """Counts the late ones, and ends it when they are too many."""

    late_s: float
    late_max: int
    since_s: float = 0.0  # who came earlier is not counted
    late: int = 0

    def __call__(self, calls: Sequence[Call]) -> None:
        late_s, since_s = self.late_s, self.since_s
        late = (call.arrived_s for call in calls if call.failed or call.done_s - call.arrived_s > late_s)
        self.late += sum(arrived_s >= since_s for arrived_s in late)
        if self.late > self.late_max:
            raise _Hopeless
