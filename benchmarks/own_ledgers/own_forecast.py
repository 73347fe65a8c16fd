"""A workload simulated from its own ledger, beside what came of it."""

from collections.abc import Sequence
from dataclasses import fields, replace
from statistics import fmean
from typing import Any

from benchmarks.own_ledgers.stage import WorkloadPlayed
from torpor.confirming.core.forecast_beside_fact import ConfirmedGoal, ForecastBesideFact, TrafficFigures
from torpor.confirming.plan_confirmation import forecasted, scales_up
from torpor.simulator.costs.costing import transform_jobs
from torpor.simulator.costs.ways_to_serve import CostTerms
from torpor.simulator.nightly import nightly
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, load
from torpor.simulator.simulation_result import SimulationResult
from torpor.time_units import HOUR_S
from torpor.workloads import LedgerFile

SEEDS = 3
WHOLE = ("requests", "failed", "late", "hits", "loads", "evictions", "wakes", "instances_most", "billed_ms")


def beside(played: WorkloadPlayed, slo_s: float) -> tuple[ForecastBesideFact, Sequence[str]]:
    """Forecast and fact, and what the forecast says it assumed. The forecast is the mean over the seeds."""
    found = load(LedgerFile(played.ledger, played.endpoint))
    scenario = found.scenario.altered(**played.changes)
    goal = ConfirmedGoal(slo_s, 0.99)
    if played.by_job:
        return _beside_job(played, found, scenario, goal), found.assumed
    each = [forecasted(found.reseeded(seed), scenario, slo_s) for seed in range(SEEDS)]
    terms = CostTerms(hours=played.window_s / HOUR_S)
    usd = [result.cost_of(_instance_s(result, played.window_s), result.served, terms).usd for result, _ in each]
    live = played.figures
    first = each[0][0]
    calls = replace(first.served, predict_ms=live.billed_ms)
    again_usd = None if live.instance_s is None else first.cost_of(live.instance_s, calls, terms).usd
    here = _mean([replace(figures, usd=one) for (_, figures), one in zip(each, usd, strict=True)])
    by_duration, scales = scenario.serverless is not None, scales_up(scenario)
    return ForecastBesideFact(goal, here, live, played.strain, again_usd, by_duration, scales), found.assumed


def _instance_s(result: SimulationResult, window_s: float) -> float:
    """The seconds of instances within the time of the bill: the ledger's whole minutes are longer, by a time in which
    a variant that scales has its fewest instances."""
    least = result.scenario.instances_min
    return result.instance_s - (least or 0) * max(0.0, result.duration_s - window_s)


def _beside_job(
    played: WorkloadPlayed, found: SimulationInputs, scenario: Scenario, goal: ConfirmedGoal
) -> ForecastBesideFact:
    """One job with all requests of the ledger, beside the one that had them."""
    job, live = nightly(found, scenario=scenario, every_s=played.window_s), played.figures
    answered = job.requests - job.failed
    here = TrafficFigures(
        job.requests, job.failed, job.failed, answered, 0, 0, 0, 1, None, None, job.instance_s, job.usd(),
        billed_ms=round(1000 * job.instance_s),
    )  # fmt: skip
    again = None if live.instance_s is None else transform_jobs(scenario.instance_type, live.instance_s)
    return ForecastBesideFact(goal, here, live, played.strain, None if again is None else again.usd, by_duration=True)


def _mean(each: Sequence[TrafficFigures]) -> TrafficFigures:
    def mean(name: str) -> float | None:
        values = [getattr(one, name) for one in each]
        return None if None in values else fmean(values)

    means: dict[str, Any] = {one.name: mean(one.name) for one in fields(TrafficFigures) if one.name != "steps"}
    counts = {name: round(means[name]) for name in WHOLE}
    return replace(each[0], **(means | counts))
