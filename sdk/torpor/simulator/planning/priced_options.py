"""The priced options of a plan, side by side: which of them meet its goal, and which ones were left out, and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torpor.simulator.costs.single_models import Apart
from torpor.simulator.costs.ways_to_serve import MONTH_H
from torpor.simulator.planning.plan_space import Goal
from torpor.simulator.planning.search import PlanCandidate
from torpor.simulator.simulation_result import SimulationResult
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, burstable
from torpor_endpoint.core.pricing.prices import Prices

SHOWN = 4


@dataclass(frozen=True)
class Priced:
    """One option to serve the trace, with the worst of the seeds that it was simulated with (`Goal.worst`)."""

    name: str
    usd: float | None  # a month, with the search's own seed
    hit_ratio: (
        float | None
    )  # the share of requests that found their model in memory; None without a multi-model endpoint
    late: float  # the share of late requests
    p99_s: float
    meets: bool
    multi_model: bool
    seeds: int = 1  # that it was simulated with
    on_aws: bool = True  # whether AWS has it too
    candidate: bool = True  # whether it is one of those among which the plan is chosen

    @property
    def rank(self) -> tuple[bool, float, float]:
        """The sort key, lowest first: the cheapest; of equal prices, the one with fewer late requests. Without a price,
        last."""
        return self.usd is None, round(self.usd or 0.0, 2), self.late


def of_candidate(one: PlanCandidate, goal: Goal, prices: Prices) -> Priced | None:
    """The candidate as an option; None if it was not simulated to its end."""
    return of_results(one.results, goal, prices) if one.results else None


def of_results(results: Sequence[SimulationResult], goal: Goal, prices: Prices) -> Priced:
    """A scenario as an option, by its results with each seed, the search's own first."""
    worst, usd = goal.worst(results), results[0].usd_per_month(prices)
    late = worst.slo_misses(goal.slo_s)
    return Priced(
        worst.scenario.name, usd, worst.hit_ratio, late, worst.p99_s, goal.met(worst), True, len(results),
        worst.scenario.on_aws,
    )  # fmt: skip


def of_apart(name: str, seeds: Sequence[Apart], goal: Goal) -> Priced:
    """Another way as an option. Without a price it does not meet the goal, nor if it answers later: its caller has to
    look for the answer."""

    def late(one: Apart) -> float:
        return 1 - one.latencies.within(goal.slo_s) / one.requests

    worst, usd = max(seeds, key=lambda one: (late(one), one.p99_s)), seeds[0].usd_per_month(MONTH_H)
    meets = worst.requests - worst.latencies.within(goal.slo_s) <= goal.late_max(worst.requests)
    meets = meets and usd is not None and not worst.later
    multi_model, on_aws = worst.scenario is not None, worst.cost.sold_by_aws
    return Priced(name, usd, None, late(worst), worst.p99_s, meets, multi_model, len(seeds), on_aws, candidate=False)


def cheapest(ways: Iterable[Priced]) -> Priced | None:
    """The cheapest option that meets the goal; None if none does."""
    return min((one for one in ways if one.meets and one.usd is not None), key=lambda one: one.rank, default=None)


def left_out(prices: Prices, named: bool) -> Sequence[str]:
    """What was not priced, and why, in words. `named`: whether the caller named the instance types."""
    notes = [
        "savings plans, reserved and spot instances, provisioned concurrency: they are not searched",
        f"other regions: these are the prices of {prices.source} (another list: `torpor prices`, --prices, --region)",
    ]
    if named:
        return notes
    gpus = sum(bool(one.gpus) for one in CATALOGUE.values())
    unpriced = [name for name, one in CATALOGUE.items() if not one.gpus and prices.usd_per_hour(name) is None]
    notes.append(f"{gpus} types with a GPU: no model here predicts on a GPU (name them with --instance-type)")
    if unpriced:
        few = f"{', '.join(unpriced[:SHOWN])}{', …' if len(unpriced) > SHOWN else ''}"
        notes.append(
            f"{len(unpriced)} types whose price is not in the list ({few}): give a list that has them (--prices)"
        )
    return notes


def at_full_speed(names: Iterable[str]) -> Sequence[str]:
    """A note on each burstable type, which is only sometimes as fast as it is simulated."""
    known = {name: share for name in names if (share := burstable(name)) is not None}
    return [
        f"{name} is burstable, and simulated at full speed: without credits it has {share:.0%} of that"
        for name, share in sorted(known.items())
    ]
