"""The goal of a plan, and the space of scenarios that it may choose from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, exp, floor
from typing import Protocol

from torpor.simulator.costs.ways_to_serve import CostTerms
from torpor.simulator.engine.latency_histogram import BINS_PER_E
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulation_result import SimulationResult
from torpor.time_units import HOUR_S
from torpor.value_rules import COUNT, SHARE, SLO, SWITCH, Kind, a, check, one_of_in_any_case, optional, several
from torpor_container.core.eviction import OFFLINE, POLICIES
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.pricing.prices import Prices

IDLE_S = (300.0, 1200.0, 3600.0)
"""The keep-alive times that are tried, in seconds, the cheapest first."""
KEEP_ALIVES = ("fixed", "histogram")
"""The keep-alives that are tried: a fixed time, or one that learns when requests come, and wakes before them."""
SEARCHED = ("LRU", "SIEVE", "LFUDA", "GDSF")
"""The eviction policies that are tried: each is the best one on some traffic."""
BEYOND_MIN = 10
"""The least number of requests beyond a quantile that make it known: with fewer, a single request changes the
answer."""
EXACT = 1e-6
"""The tolerance for binary fractions: 10 % of 10 requests are 1, and not a little less."""

SPACE: Mapping[str, Kind] = {
    "instance_types": optional(several("['ml.m5.large']")),
    "instances_max": COUNT,
    "policies": several("['LRU', 'GDSF']"),
    "idle_s": several("[300.0, 1200.0]"),
    "keep_alives": several("['fixed']"),
    "like": a(Scenario, "is a torpor.Scenario"),
    "aws_strict": SWITCH,
}


class Judged(Protocol):
    """A result that a goal is held against."""

    @property
    def requests(self) -> int: ...

    def slo_misses(self, slo_s: float) -> float: ...


@dataclass(frozen=True)
class Goal:
    """The share `quantile` of the requests is answered within `slo_s` seconds. Raises BadScenario."""

    slo_s: float
    quantile: float = 0.99

    def __post_init__(self) -> None:
        check(BadScenario, {"slo_s": SLO, "quantile": SHARE}, self.__dict__)

    def met(self, result: Judged) -> bool:
        return self.late(result) <= self.late_max(result.requests)

    def worst(self, results: Sequence[SimulationResult]) -> SimulationResult:
        """Of the same scenario with several seeds: that with most late requests; of equal ones, the slowest."""
        return max(results, key=lambda result: (result.slo_misses(self.slo_s), result.p99_s))

    def late(self, result: Judged) -> int:
        return round(result.slo_misses(self.slo_s) * result.requests)

    @property
    def late_s(self) -> float:
        """A request that takes longer is late for certain: latencies are counted in bins, and the SLO's bin counts as
        in time."""
        return self.slo_s * exp(1 / BINS_PER_E)

    def late_max(self, requests: int) -> int:
        """How many of this number of requests may be late."""
        return floor((1 - self.quantile) * requests + EXACT)

    @property
    def enough(self) -> int:
        """The number of requests that make the quantile known."""
        return ceil(BEYOND_MIN / (1 - self.quantile) - EXACT)

    def __str__(self) -> str:
        return f"{self.quantile * 100:.6g} % of the requests within {self.slo_s * 1000:,.6g} ms"


@dataclass(frozen=True)
class PlanSpace:
    """What a plan may choose from. Raises BadScenario for values that are not possible, or cannot be deployed."""

    instance_types: Sequence[str] | None = None  # None: all of the catalogue that have a price and no GPU
    instances_max: int = 8
    policies: Sequence[str] = SEARCHED
    idle_s: Sequence[float] = IDLE_S  # empty: the variant never sleeps
    like: Scenario = field(default_factory=Scenario)  # the fields that are not searched
    keep_alives: Sequence[str] = KEEP_ALIVES
    aws_strict: bool = False  # whether only what AWS has too is tried

    def __post_init__(self) -> None:
        check(BadScenario, SPACE, self.__dict__)
        if not len(self.policies):
            raise BadScenario("policies: there is none to try")
        for policy in self.policies:
            if isinstance(policy, str) and policy.upper() in OFFLINE:
                raise BadScenario(f"policies: {policy} knows the trace in advance, and cannot be deployed")
            check(BadScenario, {"policy": one_of_in_any_case(POLICIES)}, {"policy": policy})
        if self.aws_strict and self.like.asynchronous:
            raise BadScenario("aws_strict: AWS has no asynchronous multi-model endpoint")
        for idle_s in self.idle_s:
            self.like.altered(idle_s=idle_s)
        for keep_alive in self.keep_alives:
            self.like.altered(keep_alive=keep_alive)
        for name in () if self.instance_types is None else self.instance_types:
            self.like.altered(instance_type=name)

    def always_on(self, prices: Prices) -> list[Scenario]:
        """The always-on scenarios, the cheapest first. Raises BadScenario if one has no price."""
        types = list(() if self.instance_types is None else self.instance_types) or [
            name for name, one in prices.types.items() if _is_tried(one, prices)
        ]
        usd = {name: usd for name in types if (usd := usd_of_hour(name, prices)) is not None}
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

    def scaled(self, served: Scenario) -> Iterator[list[Scenario]]:
        """Scenarios that sleep or scale, for one that meets the goal when always on: a list for each way to do so, the
        cheapest first."""
        scaled = served.altered(instances_min=0, instances_max=served.instances, instances=1)
        for keep_alive in () if self.aws_strict else self.keep_alives:
            yield [scaled.altered(keep_alive=keep_alive, idle_s=idle_s) for idle_s in sorted(self.idle_s)]
        if served.instances > 1:
            yield [scaled.altered(instances_min=1)]


def usd_of_hour(name: str, prices: Prices) -> float | None:
    """The price of an hour of an instance of this type, with its volume; None if it is not known."""
    return CostTerms(prices).by_the_second(name, HOUR_S).usd


def _is_tried(one: InstanceType, prices: Prices) -> bool:
    """Whether a type is tried without being named. A price list also has types that cannot be deployed here."""
    return one.name in CATALOGUE and not one.gpus and bool(prices.usd_per_hour(one.name))
