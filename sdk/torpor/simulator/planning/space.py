"""What a plan is to reach, and what may be chosen for it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, floor

from torpor.simulator.engine.latency import BINS_PER_E
from torpor.simulator.outcome import Result
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.validation import COUNT, SHARE, SLO, Kind, a, check, one_of_in_any_case, optional, several
from torpor_container.core.policies import OFFLINE, POLICIES
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.pricing.prices import Prices

IDLE_S = (300.0, 1200.0, 3600.0)
"""The times to stay awake that are tried, the cheapest first."""
KEEP_ALIVES = ("fixed", "histogram")
"""How long to stay awake: for a fixed time, or as the callers' habits teach, and then awake before they call."""
SEARCHED = ("LRU", "SIEVE", "LFUDA", "GDSF")
"""The policies that are tried: each is the best one on some traffic."""
EXACT = 1e-6
"""What binary fractions are off by: 10 % of 10 requests are 1, and not a trifle less."""

SPACE: Mapping[str, Kind] = {
    "instance_types": optional(several("['ml.m5.large']")),
    "instances_max": COUNT,
    "policies": several("['LRU', 'GDSF']"),
    "idle_s": several("[300.0, 1200.0]"),
    "keep_alives": several("['fixed']"),
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
    keep_alives: Sequence[str] = KEEP_ALIVES

    def __post_init__(self) -> None:
        check(BadScenario, SPACE, self.__dict__)
        if not len(self.policies):
            raise BadScenario("policies: there is none to try")
        for policy in self.policies:
            if isinstance(policy, str) and policy.upper() in OFFLINE:
                raise BadScenario(f"policies: {policy} knows the trace, and cannot be deployed")
            check(BadScenario, {"policy": one_of_in_any_case(POLICIES)}, {"policy": policy})
        for idle_s in self.idle_s:
            self.like.altered(idle_s=idle_s)
        for keep_alive in self.keep_alives:
            self.like.altered(keep_alive=keep_alive)
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

    def scaled(self, served: Scenario) -> Iterator[list[Scenario]]:
        """What does not run all the time, of what serves when it does: ways of doing so, each from the cheapest up."""
        scaled = served.altered(instances_min=0, instances_max=served.instances, instances=1)
        for keep_alive in self.keep_alives:
            yield [scaled.altered(keep_alive=keep_alive, idle_s=idle_s) for idle_s in sorted(self.idle_s)]
        if served.instances > 1:
            yield [scaled.altered(instances_min=1)]


def _is_tried(name: str, one: InstanceType) -> bool:
    """Without being named. A price list also has types that nobody can deploy here."""
    return name in CATALOGUE and not one.gpus and bool(one.usd_per_hour)
