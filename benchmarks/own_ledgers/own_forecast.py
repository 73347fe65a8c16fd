"""A workload simulated from its own ledger, beside what came of it."""

from collections.abc import Sequence
from dataclasses import fields, replace
from statistics import fmean
from typing import Any

from benchmarks.own_ledgers.stage import WorkloadPlayed
from torpor.confirming.core.forecast_beside_fact import ConfirmedGoal, ForecastBesideFact, TrafficFigures
from torpor.confirming.plan_confirmation import forecasted
from torpor.simulator.costs.ways_to_serve import CostTerms
from torpor.simulator.simulation_inputs import load
from torpor.time_units import HOUR_S
from torpor.workloads import LedgerFile

SEEDS = 3
WHOLE = ("requests", "failed", "late", "hits", "loads", "evictions", "wakes", "instances_most")


def beside(played: WorkloadPlayed, slo_s: float) -> tuple[ForecastBesideFact, Sequence[str]]:
    """Forecast and fact, and what the forecast says it assumed. The forecast is the mean over the seeds."""
    found = load(LedgerFile(played.ledger, played.endpoint))
    scenario = found.scenario.altered(**played.changes)
    each = [forecasted(found.reseeded(seed), scenario, slo_s) for seed in range(SEEDS)]
    terms = CostTerms(hours=played.window_s / HOUR_S)
    usd = [scenario.cost(result.instance_s, terms, result.served).usd for result, _ in each]
    here = _mean([replace(figures, usd=one) for (_, figures), one in zip(each, usd, strict=True)])
    goal = ConfirmedGoal(slo_s, 0.99)
    return ForecastBesideFact(goal, here, played.figures, played.strain), found.assumed


def _mean(each: Sequence[TrafficFigures]) -> TrafficFigures:
    def mean(name: str) -> float | None:
        values = [getattr(one, name) for one in each]
        return None if None in values else fmean(values)

    means: dict[str, Any] = {one.name: mean(one.name) for one in fields(TrafficFigures) if one.name != "steps"}
    counts = {name: round(means[name]) for name in WHOLE}
    return replace(each[0], **(means | counts))
