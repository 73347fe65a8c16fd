"""How far a plan's figures lie apart from seed to seed: how sure they are, where traffic or times are drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torpor.simulator.planning.plan_space import Goal
from torpor.simulator.simulation_result import SimulationResult
from torpor_endpoint.core.pricing.prices import Prices


@dataclass(frozen=True)
class SeedSpread:
    """The least and the most of one figure, over the seeds."""

    figure: str  # as in `SimulationResult.summary`; or `late`, a share
    least: float
    most: float


def spreads_of(results: Sequence[SimulationResult], goal: Goal, prices: Prices) -> Iterator[SeedSpread]:
    """The spread of what a plan is judged by; nothing for a single seed. A price that is not known is left out."""
    if len(results) < 2:
        return
    each: dict[str, list[float | None]] = {
        "p99_s": [one.p99_s for one in results if one.requests > one.failed],
        "late": [one.slo_misses(goal.slo_s) for one in results],
        "hit_ratio": [one.hit_ratio for one in results],
        "usd_per_month": [one.usd_per_month(prices) for one in results],
    }
    for figure, values in each.items():
        known = [value for value in values if value is not None]
        if known:
            yield SeedSpread(figure, min(known), max(known))
