"""What a simulation showed: counted as the calls end, in memory that does not grow with them, and told as values."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from torpor import plots
from torpor.pages.frames import pandas
from torpor.simulator.costs.alternatives import MONTH_H, Calls, Cost, CostTerms, per_month
from torpor.simulator.engine.calls import FAILED, FOUND, HELD, LOADED, SimulatedCall, VariantCounts, call_columns
from torpor.simulator.engine.latency import Latencies
from torpor.simulator.engine.variant import SimulatedLife, Simulation, VariantReading
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.spans import HOUR_S
from torpor.validation import NUMBER, SLO, ValueRule, check, optional
from torpor_endpoint.core.pricing.prices import PRICES, Prices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PERIOD_S = 60.0
ROWS_MAX = 2_000
"""A longer story is told in longer steps: they double when they are as many."""

WITHIN = (NUMBER, ValueRule("is a time", lambda seconds: not isnan(seconds)))

NOTHING = VariantReading(0.0, 0, 0, 0, 0)

Floats = NDArray[np.float64]
Counted = NDArray[np.int64]


class Timeline:
    """Requests, cold ones and what there was, step by step. The last look in a step is the one that stays."""

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self.period_s = period_s
        self._requests: Counted = np.zeros(ROWS_MAX, np.int64)
        self._cold: Counted = np.zeros(ROWS_MAX, np.int64)
        self._looks: list[VariantReading] = []
        self._used = 0

    def calls(self, arrived_s: Floats, cold: NDArray[np.bool_]) -> None:
        while float(arrived_s.max()) >= self.period_s * ROWS_MAX:
            self._double()
        steps = (arrived_s / self.period_s).astype(np.intp)
        self._requests += np.bincount(steps, minlength=ROWS_MAX)
        self._cold += np.bincount(steps[cold], minlength=ROWS_MAX)
        self._used = max(self._used, int(steps.max()) + 1)

    def seen(self, look: VariantReading) -> None:
        while look.at_s > self.period_s * ROWS_MAX:
            self._double()
        if self._looks and self._step(self._looks[-1]) == self._step(look):
            self._looks.pop()
        self._looks.append(look)

    def columns(self) -> dict[str, NDArray[Any]]:
        """By name, a row for each step: `at_s` is its beginning; what there was is that at its end."""
        rows = max(self._used, self._step(self._looks[-1]) + 1 if self._looks else 0)
        at_s = np.arange(rows) * self.period_s
        seen_s = np.array([look.at_s for look in self._looks])
        places = np.searchsorted(seen_s, at_s + self.period_s, side="right") - 1
        looks = [self._looks[max(0, place)] if self._looks else NOTHING for place in places.tolist()]
        there = {
            name: np.array([getattr(look, name) for look in looks], np.int64)
            for name in ("instances", "in_flight", "models", "memory_bytes")
        }
        return {"at_s": at_s, "requests": self._requests[:rows], "cold": self._cold[:rows], **there}

    def _step(self, look: VariantReading) -> int:
        """The one at whose end it is, or in which."""
        return max(0, int(np.ceil(look.at_s / self.period_s)) - 1)

    def _double(self) -> None:
        self.period_s *= 2
        for counted in (self._requests, self._cold):
            counted[: ROWS_MAX // 2] = counted[0::2] + counted[1::2]
            counted[ROWS_MAX // 2 :] = 0
        self._looks = list({self._step(look): look for look in self._looks}.values())
        self._used = (self._used + 1) // 2


@dataclass(frozen=True)
class ModelUse:
    """One model's share. Seconds are those of its own calls, added up."""

    model: str
    requests: int
    cold: int
    failed: int
    total_s: float


class OutcomeTally:
    """Listens to one simulation: give it the batches of calls that have ended."""

    def __init__(self, overhead_s: float = 0.0, beside_load_s: float = 0.0) -> None:
        self._overhead_s = overhead_s
        self._beside_load_s = beside_load_s
        self.warm, self.cold = Latencies(), Latencies()
        self.failed = self.held = 0
        self.predict_ms = self.start_ms = 0
        self.done_s = 0.0  # the last of them
        self.timeline = Timeline()
        self._numbers: defaultdict[str, int] = defaultdict()  # in the order in which they are first met
        self._numbers.default_factory = self._numbers.__len__
        self._sums: NDArray[np.float64] = np.zeros((4, 0))  # requests, cold, failed, seconds; by model

    def add(self, calls: list[SimulatedCall]) -> None:
        models, *times_s, told = call_columns(calls)
        arrived_s, ready_s, done_s = (_packed(column, "d") for column in times_s)
        outcomes = np.frombuffer(told, np.uint8)
        held, models_were = outcomes >= HELD, outcomes & (FOUND | FAILED)
        warm, failed = outcomes == FOUND, models_were == FAILED
        cold = ~(warm | failed)
        taken_s = done_s - arrived_s + self._overhead_s + np.where(models_were == LOADED, self._beside_load_s, 0.0)
        self.warm.add(taken_s[warm])
        self.cold.add(taken_s[cold])
        self.failed += int(failed.sum())
        self.held += int(held.sum())
        self.done_s = max(self.done_s, float(done_s.max()))
        self.predict_ms += _milliseconds(done_s - ready_s)
        self.start_ms += _milliseconds(ready_s - arrived_s)
        self.timeline.calls(arrived_s, cold)
        self._by_model(models, cold, failed, taken_s)

    def models(self) -> Iterator[ModelUse]:
        for name, number in self._numbers.items():
            requests, cold, failed, total_s = self._sums[:, number].tolist()
            yield ModelUse(name, int(requests), int(cold), int(failed), total_s)

    def _by_model(
        self, names: Sequence[str], cold: NDArray[np.bool_], failed: NDArray[np.bool_], taken_s: Floats
    ) -> None:
        numbers = self._numbers
        models = _packed(tuple(map(numbers.__getitem__, names)), "q")
        if len(numbers) > self._sums.shape[1]:
            self._sums = np.hstack((self._sums, np.zeros((4, len(numbers)))))
        size = self._sums.shape[1]
        for row, weights in enumerate((None, cold, failed, taken_s)):
            self._sums[row] += np.bincount(models, weights, minlength=size)


@dataclass(frozen=True, eq=False)
class Result:
    """One simulation. Times are seconds of its own clock, which began at 0."""

    scenario: Scenario
    trace: str
    seed: int
    duration_s: float  # until the trace was over, the last request answered, or the last instance asleep
    requests: int
    failed: int  # their model fits into no instance
    cold: int  # answered, and waited for an instance or for their model first
    held: int  # waited for an instance
    loads: int
    load_s: float  # all of them together
    downloads: int
    evictions: int
    wakes: int
    instance_s: float  # of all instances together, from their start to their end
    warm_latencies: Latencies
    cold_latencies: Latencies
    served: Calls  # what they queued for a thread is in their predict_ms
    timeline: Mapping[str, NDArray[Any]] = field(repr=False)  # columns, a row for each step of time
    models: Sequence[ModelUse] = field(repr=False)
    assumed: Sequence[str]  # what was not known, and what was taken instead
    took_s: float  # of processor time

    @property
    def latencies(self) -> Latencies:
        """Of all requests that were answered."""
        return self.warm_latencies + self.cold_latencies

    @property
    def warm(self) -> int:
        """Answered, by a model that was there. Every request is warm, cold or failed."""
        return self.requests - self.cold - self.failed

    @property
    def hit_ratio(self) -> float:
        """AWS's ModelCacheHit, averaged."""
        return self.warm / self.requests

    @property
    def p50_s(self) -> float:
        return self.latencies.quantile(0.5)

    @property
    def p99_s(self) -> float:
        return self.latencies.quantile(0.99)

    def slo_misses(self, slo_s: float) -> float:
        """The share of requests that were not answered within this time; those that failed are among them. Raises
        BadScenario."""
        check(BadScenario, {"slo_s": WITHIN}, {"slo_s": slo_s})
        return (self.requests - self.latencies.within(slo_s)) / self.requests

    def cost(self, prices: Prices = PRICES) -> Cost:
        """Of the time that was simulated."""
        return self.scenario.cost(self.instance_s, CostTerms(prices, self.duration_s / HOUR_S))

    def usd_per_month(self, prices: Prices = PRICES, hours: float = MONTH_H) -> float | None:
        """As if the month were more of the same. Of a trace that does not tell for how long it was recorded, from its
        first request to its last one: quiet before and after them is not in it, and what sleeps looks dearer.

        None where the price is not known, or no time went by.
        """
        return per_month(self.cost(prices).usd, self.duration_s, hours)

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
        """The summary, as a data frame of one row: `pandas.concat` takes several."""
        return pandas().DataFrame([self.summary(prices)])

    def timeline_frame(self) -> Any:
        return pandas().DataFrame(dict(self.timeline))

    def models_frame(self) -> Any:
        """A row per model, the one with most requests first."""
        rows = [{**use.__dict__, "mean_s": use.total_s / use.requests} for use in self.models]
        return pandas().DataFrame(rows).sort_values("requests", ascending=False, ignore_index=True)

    # -- pictures: each raises MissingExtra without matplotlib ---------------------------------------------------------
    @property
    def note(self) -> str:
        """What every picture of it rests on."""
        failed = f", {self.failed:,} of them failed" if self.failed else ""
        return f"{self.trace}; {self.scenario.name}; {self.requests:,} requests{failed}; seed {self.seed}"

    def plot_time(self) -> "Figure":
        """Requests, cold ones, instances and models in memory over time."""
        return plots.over_time(self.timeline, self.note)

    def plot_latency(self, slo_s: float | None = None) -> "Figure":
        """The share of requests by how long they took: warm ones, cold ones and all. Raises BadScenario where none was
        answered."""
        check(BadScenario, {"slo_s": optional(SLO)}, {"slo_s": slo_s})
        if self.requests == self.failed:
            raise BadScenario(
                f"none of {self.requests:,} requests was answered, so there is no latency to draw: their models are"
                " larger than an instance's memory or disk. Take a larger instance_type"
            )
        sorts = {"all": self.latencies, "warm": self.warm_latencies, "cold": self.cold_latencies}
        return plots.latency_cdf({name: some.cdf() for name, some in sorts.items() if some.count}, slo_s, self.note)


def ended_s(lives: Sequence[SimulatedLife], *at_least_s: float) -> float:
    """When the last instance that retired was gone, if not later: looks go on a little longer."""
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
    took_s: float,
) -> Result:
    """Of a simulation that is over."""
    counts: VariantCounts = simulation.counts
    requests = tally.warm.count + tally.cold.count + tally.failed
    uses = sorted(tally.models(), key=lambda use: (-use.requests, use.model))
    duration_s = ended_s(simulation.lives, tally.done_s, simulation.lasts_s)
    return Result(
        scenario, trace, seed, duration_s, requests, tally.failed, tally.cold.count, tally.held,
        counts.loads, counts.load_s, counts.downloads, counts.unloads, counts.wakes,
        alive_s(simulation.lives, duration_s),
        tally.warm, tally.cold, Calls(requests, tally.predict_ms, tally.start_ms, moved_bytes),
        tally.timeline.columns(), uses, tuple(assumed), took_s,
    )  # fmt: skip


def _packed(column: Sequence[float], code: str) -> NDArray[Any]:
    """In half of the time that numpy takes to read it. The code is struct's, and numpy's."""
    return np.frombuffer(Struct(f"{len(column)}{code}").pack(*column), code)


def _milliseconds(seconds: Floats) -> int:
    """Each rounded up, added up."""
    return int(np.ceil(seconds * 1000 - 1e-6).sum())
