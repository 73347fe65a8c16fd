"""The result of a simulation, as values, data frames, costs and plots."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from torpor import plots
from torpor.pages.data_frames import pandas
from torpor.simulator.costs.ways_to_serve import MONTH_H, Calls, Cost, CostTerms, per_month
from torpor.simulator.engine.call_records import VariantCounts
from torpor.simulator.engine.latency_histogram import Latencies
from torpor.simulator.engine.simulated_variant import SimulatedLife, Simulation
from torpor.simulator.request_tally import ContainerTimes, ModelUse, OutcomeTally
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.time_units import HOUR_S
from torpor.value_rules import NUMBER, SLO, ValueRule, check, optional
from torpor_endpoint.core.pricing.bills import NOTHING, Bill
from torpor_endpoint.core.pricing.prices import PRICES, Prices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITHIN = (NUMBER, ValueRule("is a time", lambda seconds: not isnan(seconds)))


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """The result of one simulation. Times are seconds of virtual time, which begins at 0."""

    scenario: Scenario
    trace: str
    seed: int
    duration_s: float  # until the trace is over, the last request has ended, and the last instance has stopped
    requests: int
    failed: int  # their model is larger than an instance's memory or disk, or they were throttled
    cold: int  # answered, after they waited for an instance or for their model
    held: int  # waited for an instance
    loads: int
    load_s: float  # of all loads together
    downloads: int
    evictions: int
    wakes: int
    instance_s: float  # of all instances together, from their start to their end
    warm_latencies: Latencies
    cold_latencies: Latencies
    served: Calls  # the wait for a thread is in predict_ms
    timeline: Mapping[str, NDArray[Any]] = field(repr=False)  # columns, with a row for each step of time
    models: Sequence[ModelUse] = field(repr=False)
    assumed: Sequence[str]  # what was not known, and what is used instead
    took_s: float  # of processor time
    shadow: "ShadowOutcome | None" = None  # of the shadow variant beside it
    containers: Sequence[ContainerTimes] = ()  # of a pipeline, in its order
    entries: int = 0  # of models that came from memory onto a device
    throttled: int = 0  # of those that failed: beyond a serverless variant's MaxConcurrency
    stored_bytes: int = field(default=0, repr=False)  # in S3, of the artifacts of the models that were called

    @property
    def latencies(self) -> Latencies:
        """Of all requests that were answered."""
        return self.warm_latencies + self.cold_latencies

    @property
    def warm(self) -> int:
        """The requests that found their model in memory. Every request is warm, cold or failed."""
        return self.requests - self.cold - self.failed

    @property
    def hit_ratio(self) -> float:
        """The average of AWS's metric ModelCacheHit."""
        return self.warm / self.requests if self.requests else 0.0

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
        return self.cost_of(self.instance_s, self.served, CostTerms(prices, self.duration_s / HOUR_S))

    def cost_of(self, instance_s: float, calls: Calls, terms: CostTerms) -> Cost:
        """The cost of other seconds of instances and other calls in a time, with the same models and downloads."""
        return self.scenario.cost(instance_s, terms, calls).with_objects(terms, self.stored_bytes, self.downloads)

    def _recurring(self, prices: Prices) -> Cost:
        """The cost without the first download of each model, which happens once and not again in each month."""
        return replace(self, downloads=max(0, self.downloads - len(self.models))).cost(prices)

    def usd_per_month(self, prices: Prices = PRICES, hours: float = MONTH_H) -> float | None:
        """The cost of a month of `hours` hours of the same traffic. A trace that does not know how long it was recorded
        counts from its first request to its last: it lacks the quiet before and after, so what sleeps looks dearer.

        None if the price is not known, or the simulated time is 0.
        """
        return per_month(self._recurring(prices).usd, self.duration_s, hours)

    def bill_per_month(self, prices: Prices = PRICES, hours: float = MONTH_H) -> Bill:
        """The lines of the bill for a month of `hours` hours of the same traffic; none if the simulated time is 0."""
        return self._recurring(prices).bill.times(hours * HOUR_S / self.duration_s) if self.duration_s else NOTHING

    def shadow_share(self, prices: Prices = PRICES) -> float | None:
        """The share of the cost of both variants that the shadow variant causes; None without one, or if a price is not
        known."""
        if self.shadow is None:
            return None
        own, shadow = self.usd_per_month(prices), self.shadow.result.usd_per_month(prices)
        return None if own is None or shadow is None else shadow / (own + shadow)

    def summary(self, prices: Prices = PRICES) -> dict[str, Any]:
        """A row of a table."""
        return {
            "scenario": self.scenario.name,
            "requests": self.requests,
            "hit_ratio": self.hit_ratio,
            "cold": self.cold,
            "loads": self.loads,
            "load_s": self.load_s,
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
        """The summary as a data frame of one row; `pandas.concat` joins several."""
        return pandas().DataFrame([self.summary(prices)])

    def timeline_frame(self) -> Any:
        return pandas().DataFrame(dict(self.timeline))

    def models_frame(self) -> Any:
        """A row per model, the one with most requests first."""
        rows = [{**use.__dict__, "mean_s": use.total_s / use.requests} for use in self.models]
        return pandas().DataFrame(rows).sort_values("requests", ascending=False, ignore_index=True)

    def containers_frame(self) -> Any:
        """A row per container of a pipeline, in its order; none for a single container."""
        rows = [
            {
                "container": one.container,
                "requests": one.latencies.count,
                "mean_s": one.latencies.mean_s,
                "p50_s": one.latencies.quantile(0.5),
                "p99_s": one.latencies.quantile(0.99),
            }
            for one in self.containers
        ]
        return pandas().DataFrame(rows, columns=["container", "requests", "mean_s", "p50_s", "p99_s"])

    # -- plots: each raises MissingExtra without matplotlib ------------------------------------------------------------
    @property
    def note(self) -> str:
        """The line below each plot of the result: trace, scenario, requests and seed."""
        failed = f", {self.failed:,} of them failed" if self.failed else ""
        return f"{self.trace}; {self.scenario.name}; {self.requests:,} requests{failed}; seed {self.seed}"

    def plot_time(self) -> "Figure":
        """Requests, cold ones, instances and models in memory over time."""
        return plots.over_time(self.timeline, self.note)

    def plot_latency(self, slo_s: float | None = None) -> "Figure":
        """The distributions of latency: of warm requests, cold requests and all. Raises BadScenario if none was
        answered."""
        check(BadScenario, {"slo_s": optional(SLO)}, {"slo_s": slo_s})
        if self.requests == self.failed:
            raise BadScenario(
                f"none of {self.requests:,} requests was answered, so there is no latency to draw: their models are"
                " larger than an instance's memory or disk. Take a larger instance_type"
            )
        sorts = {"all": self.latencies, "warm": self.warm_latencies, "cold": self.cold_latencies}
        return plots.latency_cdf({name: some.cdf() for name, some in sorts.items() if some.count}, slo_s, self.note)


@dataclass(frozen=True, eq=False)
class ShadowOutcome:
    """What became of the copies of requests. The requests of `result` are the copies that the shadow variant got."""

    share: float  # of the requests, which were copied
    dropped: int  # copies beyond the most that may be in flight
    result: SimulationResult


def ended_s(lives: Sequence[SimulatedLife], *at_least_s: float) -> float:
    """When the last retired instance ended, or `at_least_s` if that is later. Virtual time goes on a little longer."""
    gone_s = (life.ended_s for life in lives if life.retired_s is not None and life.ended_s is not None)
    return max([*at_least_s, *gone_s])


def alive_s(lives: Sequence[SimulatedLife], until_s: float) -> float:
    return sum(max(0.0, min(until_s, inf if life.ended_s is None else life.ended_s) - life.began_s) for life in lives)


def outcome(
    scenario: Scenario,
    simulation: Simulation,
    tally: OutcomeTally,
    *,
    trace: str,
    seed: int,
    assumed: Sequence[str],
    moved_bytes: int,
    stored_bytes: Callable[[str], int],
    took_s: float,
) -> SimulationResult:
    """The result of a simulation that is over. `stored_bytes` has the bytes of a model's artifact."""
    counts: VariantCounts = simulation.counts
    requests = tally.warm.count + tally.cold.count + tally.failed
    uses = sorted(tally.models(), key=lambda use: (-use.requests, use.model))
    duration_s = ended_s(simulation.lives, tally.done_s, simulation.lasts_s)
    return SimulationResult(
        scenario, trace, seed, duration_s, requests, tally.failed, tally.cold.count, tally.held,
        counts.loads, counts.load_s, counts.downloads, counts.unloads, counts.wakes,
        alive_s(simulation.lives, duration_s),
        tally.warm, tally.cold, Calls(requests, tally.predict_ms, tally.start_ms, moved_bytes),
        tally.timeline.columns(), uses, tuple(assumed), took_s,
        containers=() if tally.containers is None else tuple(tally.containers.times),
        entries=counts.entries,
        throttled=counts.throttled,
        stored_bytes=sum(stored_bytes(use.model) for use in uses),
    )  # fmt: skip
