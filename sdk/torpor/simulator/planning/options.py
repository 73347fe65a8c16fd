"""The priced options of a plan, side by side: which of them meet its goal, and which ones were left out, and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torpor.simulator.costs.alternatives import MONTH_H
from torpor.simulator.costs.single_models import Apart
from torpor.simulator.outcome import Result
from torpor.simulator.planning.search import PlanCandidate
from torpor.simulator.planning.space import Goal
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, burstable
from torpor_endpoint.core.pricing.prices import Prices

SHOWN = 4


@dataclass(frozen=True)
class Priced:
    """One option to serve the trace. `meets` is whether it meets the goal with each seed that was simulated."""

    name: str
    usd: float | None  # a month
    late: float  # the share of late requests, with the worst seed
    p99_s: float
    meets: bool
    multi_model: bool

    @property
    def rank(self) -> tuple[bool, float, float]:
        """The sort key, lowest first: the cheapest; of equal prices, the one with fewer late requests. Without a price,
        last."""
        return self.usd is None, round(self.usd or 0.0, 2), self.late


def of_candidate(one: PlanCandidate, seeds: Sequence[Result], goal: Goal, prices: Prices) -> Priced | None:
    """The candidate as an option; None if it was not simulated to its end. `seeds` are its results with each seed."""
    if one.result is None:
        return None
    usd, late = one.result.usd_per_month(prices), max(result.slo_misses(goal.slo_s) for result in seeds)
    return Priced(one.scenario.name, usd, late, one.result.p99_s, one.meets and all(map(goal.met, seeds)), True)


def of_apart(name: str, seeds: Sequence[Apart], goal: Goal) -> Priced:
    """A way without a multi-model endpoint as an option. Without a price it does not meet the goal."""
    first, late = seeds[0], [1 - one.latencies.share_within(goal.slo_s) for one in seeds]
    meets = all(one.requests - one.latencies.within(goal.slo_s) <= goal.late_max(one.requests) for one in seeds)
    usd = first.usd_per_month(MONTH_H)
    return Priced(name, usd, max(late), first.p99_s, meets and usd is not None, False)


def cheapest(ways: Iterable[Priced]) -> Priced | None:
    """The cheapest option that meets the goal; None if none does."""
    return min((one for one in ways if one.meets and one.usd is not None), key=lambda one: one.rank, default=None)


def left_out(prices: Prices, named: bool) -> Sequence[str]:
    """What was not priced, and why, in words. `named`: whether the caller named the instance types."""
    notes = [
        "an inference component per model: it is not simulated",
        "asynchronous inference and nightly jobs, which answer later: see --async, and torpor.nightly",
        "savings plans, reserved and spot instances, provisioned concurrency: their prices are not known",
        f"other regions: these are the prices of {prices.source} (another list: --prices, --region)",
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
