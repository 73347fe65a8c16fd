"""The result of a simulation of inference components, as values, a data frame and costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from torpor import plots
from torpor.pages.data_frames import pandas
from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import ComponentSetup
from torpor.simulator.components.simulated_capacity import SimulatedMachine
from torpor.simulator.components.simulated_component import SimulatedComponent
from torpor.simulator.components.simulated_endpoint import SimulatedEndpoint
from torpor.simulator.costs.ways_to_serve import MONTH_H, Cost, CostTerms, per_month
from torpor.simulator.engine.latency_histogram import Latencies
from torpor.simulator.engine.simulated_variant import SimulatedLife
from torpor.simulator.request_tally import ModelUse, OutcomeTally
from torpor.simulator.scenario import BadScenario
from torpor.simulator.simulation_result import WITHIN, alive_s, ended_s
from torpor.time_units import HOUR_S
from torpor.value_rules import check
from torpor_endpoint.core.components.component_variants import copies_name
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.pricing.accounts import VariantUse, Window
from torpor_endpoint.core.pricing.bills import NOTHING, Bill
from torpor_endpoint.core.pricing.component_shares import ComponentShare, component_shares
from torpor_endpoint.core.pricing.prices import PRICES, Prices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDPOINT, VARIANT = "simulated", "AllTraffic"


@dataclass(frozen=True)
class ComponentUse:
    """One component's requests and copies."""

    component: str
    requests: int
    cold: int  # waited for a copy, or in one for a model or an adapter
    failed: int
    total_s: float  # the sum of its latencies
    copies: int  # at the end
    copy_s: float  # of all its copies together
    wakes: int  # copies that a request has started
    unplaced: int  # copies that were wanted and had no room
    loads: int = 0  # of models of a multi-model container, or of adapters, beside the starts of copies
    evictions: int = 0  # of models of a multi-model container


@dataclass(frozen=True, eq=False)
class ComponentsResult:
    """The result of one simulation. Times are seconds of virtual time, which begins at 0."""

    scenario: ComponentScenario
    trace: str
    seed: int
    duration_s: float
    requests: int
    failed: int
    refused: int  # of those that failed: strict, and without a copy
    cold: int  # answered, after they waited for a copy, a model or an adapter
    wakes: int
    moves: int  # of copies, to other instances
    instance_s_by_type: Mapping[str, float]  # of all instances of each type together
    instances_most: int
    warm_latencies: Latencies
    cold_latencies: Latencies
    moved_bytes: int
    components: Sequence[ComponentUse]
    timeline: Mapping[str, NDArray[Any]] = field(repr=False)
    assumed: Sequence[str] = ()
    stored_bytes: int = field(default=0, repr=False)  # in S3, of the artifacts of all components
    lives: Sequence[InstanceLife] = field(default=(), repr=False)
    copy_lives: Sequence[InstanceLife] = field(default=(), repr=False)

    @property
    def shadow(self) -> None:
        """A component has no shadow variant."""

    @property
    def throttled(self) -> int:
        """No component has a MaxConcurrency."""
        return 0

    @property
    def entries(self) -> int:
        """A simulated copy has no device."""
        return 0

    @property
    def latencies(self) -> Latencies:
        """Of all requests that were answered."""
        return self.warm_latencies + self.cold_latencies

    @property
    def instance_s(self) -> float:
        """Of all instances together, from their start to their end."""
        return sum(self.instance_s_by_type.values())

    @property
    def warm(self) -> int:
        return self.requests - self.cold - self.failed

    @property
    def hit_ratio(self) -> float:
        """The share of requests that found a copy of their model."""
        return self.warm / self.requests if self.requests else 0.0

    @property
    def loads(self) -> int:
        """The copies that started, beside those that are ready at the beginning, as each loads its model; and the loads
        of multi-model containers and of adapters."""
        multi_model = {copies_name(one.name) for one in self.scenario.components if one.models}
        started = (life for life in self.copy_lives if life.started_s > 0 or life.ready_s != life.started_s)
        return sum(life.variant not in multi_model for life in started) + sum(use.loads for use in self.components)

    @property
    def evictions(self) -> int:
        """Of models of multi-model containers."""
        return sum(use.evictions for use in self.components)

    @property
    def p50_s(self) -> float:
        return self.latencies.quantile(0.5)

    @property
    def p99_s(self) -> float:
        return self.latencies.quantile(0.99)

    def slo_misses(self, slo_s: float) -> float:
        """The share of requests that were not answered within this time, with those that failed. Raises BadScenario."""
        check(BadScenario, {"slo_s": WITHIN}, {"slo_s": slo_s})
        return (self.requests - self.latencies.within(slo_s)) / self.requests if self.requests else 0.0

    def cost(self, prices: Prices = PRICES) -> Cost:
        """The cost of the simulated time."""
        return self._with_artifacts(prices, self.loads)

    def _with_artifacts(self, prices: Prices, gets: int) -> Cost:
        """The cost with that of all artifacts in S3, and of so many requests that fetch them."""
        terms = CostTerms(prices, self.duration_s / HOUR_S)
        return self._instances(prices).with_objects(terms, self.stored_bytes, gets)

    def _instances(self, prices: Prices) -> Cost:
        """The cost without the artifacts."""
        terms = CostTerms(prices, self.duration_s / HOUR_S)
        return self.scenario.cost(self.instance_s_by_type, terms, self.moved_bytes)

    def _recurring(self, prices: Prices) -> Cost:
        """The cost without the first start of each component, which happens once and not again in each month."""
        begun = {copies_name(one.name) for one in self.scenario.components if one.copies}
        first = {life.variant for life in self.copy_lives} - begun
        return self._with_artifacts(prices, max(0, self.loads - len(first)))

    def usd_per_month(self, prices: Prices = PRICES, hours: float = MONTH_H) -> float | None:
        """The cost of a month of `hours` hours of the same traffic. None if the price is not known."""
        return per_month(self._recurring(prices).usd, self.duration_s, hours)

    def bill_per_month(self, prices: Prices = PRICES, hours: float = MONTH_H) -> Bill:
        """The lines of the bill for a month of `hours` hours of the same traffic."""
        return self._recurring(prices).bill.times(hours * HOUR_S / self.duration_s) if self.duration_s else NOTHING

    def shares(self, prices: Prices = PRICES) -> Sequence[ComponentShare]:
        """Each component's part of the bill of the simulated time, by what its copies reserve, and the unreserved rest:
        as the live bill is divided."""
        use = VariantUse(ENDPOINT, VARIANT, list(self.lives), copies=list(self.copy_lives))
        return component_shares(use, self._instances(prices).bill, Window(0.0, self.duration_s), prices.types)

    def summary(self, prices: Prices = PRICES) -> dict[str, Any]:
        """A row of a table, with the columns of `SimulationResult.summary`."""
        return {
            "scenario": self.scenario.name,
            "requests": self.requests,
            "hit_ratio": self.hit_ratio,
            "cold": self.cold,
            "loads": self.loads,
            "load_s": 0.0,
            "evictions": self.evictions,
            "wakes": self.wakes,
            "p50_s": self.p50_s,
            "p99_s": self.p99_s,
            "failed": self.failed,
            "instance_hours": self.instance_s / HOUR_S,
            "usd": self.cost(prices).usd,
            "usd_per_month": self.usd_per_month(prices),
            "seed": self.seed,
        }

    def frame(self, prices: Prices = PRICES) -> Any:
        """The summary as a data frame of one row; `pandas.concat` joins several. Raises MissingExtra."""
        return pandas().DataFrame([self.summary(prices)])

    def plot_time(self) -> "Figure":
        """Requests, cold ones, instances and copies over time. Raises MissingExtra."""
        return plots.over_time(self.timeline, f"{self.trace}; {self.scenario.name}; seed {self.seed}")


def components_outcome(
    endpoint: SimulatedEndpoint,
    tally: OutcomeTally,
    *,
    trace: str,
    seed: int,
    assumed: Sequence[str],
    moved_bytes: int,
    stored_bytes: int,
) -> ComponentsResult:
    """The result of a simulation that is over."""
    capacity, components = endpoint.capacity, endpoint.components
    lives = [one.life for one in capacity.machines]
    duration_s = ended_s(lives, tally.done_s, endpoint.lasts_s)
    instance_s: dict[str, float] = {}
    for one in sorted(capacity.machines, key=lambda one: one.instance_type):
        alive = alive_s([one.life], duration_s)
        instance_s[one.instance_type] = instance_s.get(one.instance_type, 0.0) + alive
    served = {use.model: use for use in tally.models()}
    refused = sum(one.refused for one in components)
    return ComponentsResult(
        endpoint.scenario,
        trace,
        seed,
        duration_s,
        tally.warm.count + tally.cold.count + tally.failed,
        tally.failed,
        refused,
        tally.cold.count,
        sum(one.counts.wakes for one in components),
        endpoint.moves,
        instance_s,
        _most_at_once(lives),
        tally.warm,
        tally.cold,
        moved_bytes,
        [_use(one, _served(endpoint, one, served), duration_s) for one in components],
        tally.timeline.columns(),
        tuple(assumed),
        stored_bytes,
        [_instance_life(one) for one in capacity.machines],
        [_copy_life(one.setup, life) for one in components for life in one.lives],
    )


# -- inside ------------------------------------------------------------------------------------------------------------
def _served(endpoint: SimulatedEndpoint, one: SimulatedComponent, uses: Mapping[str, ModelUse]) -> list[ModelUse]:
    """What came to a component: for its models, and for the adapters that its copies serve."""
    adapters = (adapter.serves for adapter in endpoint.scenario.adapters if adapter.base == one.setup.name)
    return [uses[name] for name in (*one.setup.called, *adapters) if name in uses]


def _use(one: SimulatedComponent, served: Sequence[ModelUse], until_s: float) -> ComponentUse:
    requests, cold, failed = (sum(map(attrgetter(name), served)) for name in ("requests", "cold", "failed"))
    return ComponentUse(
        one.setup.name,
        requests,
        cold,
        failed,
        sum(use.total_s for use in served),
        len(one.numbers),
        alive_s(one.lives, until_s),
        one.counts.wakes,
        one.unplaced,
        one.counts.loads,
        one.counts.unloads,
    )


def _most_at_once(lives: Sequence[SimulatedLife]) -> int:
    changes = [(life.began_s, 1) for life in lives]
    changes += [(life.ended_s, -1) for life in lives if life.ended_s is not None]
    return max(accumulate(change for _, change in sorted(changes)), default=0)


def _instance_life(machine: SimulatedMachine) -> InstanceLife:
    life = machine.life
    return InstanceLife(
        ENDPOINT, VARIANT, life.slot, 0, machine.instance_type, "", life.began_s, life.ready_s, "", life.ended_s
    )


def _copy_life(setup: ComponentSetup, life: SimulatedLife) -> InstanceLife:
    return InstanceLife(
        ENDPOINT,
        copies_name(setup.name),
        life.slot,
        0,
        "",
        "",
        life.began_s,
        life.ready_s,
        stopped_s=life.ended_s,
        placed_on=VARIANT,
        reserved_mib=setup.memory_mib,
        reserved_cores=setup.cores,
        reserved_accelerators=setup.accelerators,
    )
