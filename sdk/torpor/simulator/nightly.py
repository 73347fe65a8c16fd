"""`torpor.nightly`: the same traffic, answered by batch transform jobs at fixed times instead of an endpoint."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor.simulator.costs.costing import transform_jobs
from torpor.simulator.costs.ways_to_serve import MONTH_H, Cost, CostTerms, per_month
from torpor.simulator.engine.latency_histogram import Floats, Latencies
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulation_inputs import Profiles, SimulationInputs, load
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import run
from torpor.time_units import DAY_S, HOUR_S
from torpor.value_rules import AMOUNT, MORE, check
from torpor.workloads import Chunk, Paced, Recorded
from torpor_endpoint.core.pricing.prices import PRICES, Prices


@dataclass(frozen=True)
class NightlyJob:
    """One job. Times are seconds of the trace."""

    at_s: float
    requests: int
    took_s: float  # from the start of its instances to their end

    @property
    def ended_s(self) -> float:
        return self.at_s + self.took_s


@dataclass(frozen=True, eq=False)
class Nightly:
    """What the jobs came to. A request is answered when its job ends, as the objects of a job are."""

    scenario: Scenario
    every_s: float
    jobs: Sequence[NightlyJob] = field(repr=False)
    latencies: Latencies  # from the arrival of each request to the end of its job
    failed: int
    duration_s: float  # the trace, in whole periods of `every_s`
    stored_bytes: int = 0  # in S3, of the models' artifacts
    downloads: int = 0

    @property
    def name(self) -> str:
        return f"batch every {self.every_s / HOUR_S:g} h, {self.scenario.instances} x {self.scenario.instance_type}"

    @property
    def requests(self) -> int:
        return sum(job.requests for job in self.jobs)

    @property
    def instance_s(self) -> float:
        """Of all instances together."""
        return sum(job.took_s for job in self.jobs) * self.scenario.instances

    @property
    def longest_s(self) -> float:
        """The longest job."""
        return max((job.took_s for job in self.jobs), default=0.0)

    def cost(self, prices: Prices = PRICES) -> Cost:
        """The cost of the simulated time, at the prices of batch transform."""
        terms = CostTerms(prices, self.duration_s / HOUR_S)
        jobs = transform_jobs(self.scenario.instance_type, self.instance_s, terms)
        return jobs.with_objects(terms, self.stored_bytes, self.downloads)

    def usd(self, prices: Prices = PRICES) -> float | None:
        """The cost of the simulated time; None if the price is not known."""
        return self.cost(prices).usd

    def usd_per_month(self, prices: Prices = PRICES, hours: float = MONTH_H) -> float | None:
        """The cost of a month of `hours` hours of the same traffic; None if the price is not known."""
        return per_month(self.usd(prices), self.duration_s, hours)

    def summary(self, prices: Prices = PRICES) -> dict[str, Any]:
        """A row of a table, with the columns of `SimulationResult.summary` that a job has."""
        return {
            "scenario": self.name,
            "requests": self.requests,
            "p50_s": self.latencies.quantile(0.5),
            "p99_s": self.latencies.quantile(0.99),
            "failed": self.failed,
            "instance_hours": self.instance_s / HOUR_S,
            "usd": self.usd(prices),
            "usd_per_month": self.usd_per_month(prices),
        }


def nightly(
    trace: Any,
    profiles: Profiles | Path | str | None = None,
    scenario: Scenario | None = None,
    *,
    every_s: float = DAY_S,
    at_s: float | None = None,
    seed: int = 0,
    **changes: Any,
) -> Nightly:
    """Answer the traffic by one batch transform job in each period of `every_s` seconds.

    The first job runs `at_s` seconds after the first request, or `every_s` if that is None, and each job has the
    requests that came before it. A job has `instances` instances of its own, each with at most `concurrency` requests
    at a time, by the endpoint's own rules for models and memory; it starts them (`wake_s`) and ends them. The other
    arguments are those of `torpor.simulate`. A record costs as much as a request does: the time that MultiRecord saves
    is not known from a trace of single requests.

    Raises BadTrace, BadScenario.
    """
    at_s = every_s if at_s is None else at_s
    check(BadScenario, {"every_s": MORE, "at_s": AMOUNT}, {"every_s": every_s, "at_s": at_s})
    inputs = trace if isinstance(trace, SimulationInputs) else load(trace, profiles, seed=seed)
    chosen = (scenario or inputs.scenario).altered(**changes)
    each = chosen.altered(asynchronous=True, instances_min=None, instances_max=None)
    jobs, latencies, failed, downloads, called = [], Latencies(), 0, 0, set[str]()
    for number, arrived_s, chunk in _periods(inputs, every_s, at_s):
        result = run(_at_once(inputs, chunk), each)
        job = NightlyJob(number * every_s + at_s, len(arrived_s), each.plan.machine.wake_s + _took_s(result))
        jobs.append(job)
        latencies.add(job.ended_s - arrived_s)
        failed += result.failed
        downloads += result.downloads
        called.update(use.model for use in result.models)
    duration_s = max(every_s, jobs[-1].at_s)
    stored_bytes = sum(inputs.profile(model).stored_bytes for model in called)
    return Nightly(each, every_s, jobs, latencies, failed, duration_s, stored_bytes, downloads)


def _took_s(result: SimulationResult) -> float:
    """From the first request, which all are, to the last answer."""
    return result.latencies.most_s if result.requests > result.failed else 0.0


def _at_once(inputs: SimulationInputs, models: NDArray[Any]) -> SimulationInputs:
    """The requests of one job, which are all there when it begins."""
    part = Recorded(inputs.trace.names, [Chunk(np.zeros(len(models)), models)])
    return replace(inputs, trace=part)


def _periods(inputs: SimulationInputs, every_s: float, at_s: float) -> Iterator[tuple[int, Floats, NDArray[Any]]]:
    """By the number of its job: the arrivals and the models of the requests that it has, in order."""
    number, times, models = -1, list[Floats](), list[NDArray[Any]]()
    for chunk in Paced(inputs.trace).chunks():
        numbers = np.maximum(0, np.floor((chunk.times_s - at_s) / every_s) + 1).astype(int)
        for found in np.unique(numbers).tolist():
            if found != number and times:
                yield number, np.concatenate(times), np.concatenate(models)
                times, models = [], []
            number, mine = found, numbers == found
            times.append(chunk.times_s[mine])
            models.append(chunk.models[mine])
    if times:
        yield number, np.concatenate(times), np.concatenate(models)
