"""All ways that were priced for a plan, side by side: which meet its goal, and which was not looked at, and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torpor.simulator.costs.alternatives import MONTH_H
from torpor.simulator.costs.single_models import Apart
from torpor.simulator.outcome import Result
from torpor.simulator.planning.searching import PlanCandidate
from torpor.simulator.planning.space import Goal
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, burstable
from torpor_endpoint.core.pricing.prices import Prices

SHOWN = 4


@dataclass(frozen=True)
class Priced:
    """One way to serve the trace. `meets` is whether it is in time with each of the seeds that it was played with."""

    name: str
    usd: float | None  # a month
    late: float  # the share of the requests; of the seed that is the worst
    p99_s: float
    meets: bool
    multi_model: bool

    @property
    def rank(self) -> tuple[bool, float, float]:
        """The lower, the better: the cheapest; of what costs the same, the least late. Without a price, last."""
        return self.usd is None, round(self.usd or 0.0, 2), self.late


def of_candidate(one: PlanCandidate, seeds: Sequence[Result], goal: Goal, prices: Prices) -> Priced | None:
    """None of one that was not played to its end. `seeds` are those of the plan, for others only their own."""
    if one.result is None:
        return None
    usd, late = one.result.usd_per_month(prices), max(result.slo_misses(goal.slo_s) for result in seeds)
    return Priced(one.scenario.name, usd, late, one.result.p99_s, one.meets and all(map(goal.met, seeds)), True)


def of_apart(name: str, seeds: Sequence[Apart], goal: Goal) -> Priced:
    """What has no price can be bought from nobody, and so meets nothing."""
    first, late = seeds[0], [1 - one.latencies.share_within(goal.slo_s) for one in seeds]
    meets = all(one.requests - one.latencies.within(goal.slo_s) <= goal.late_max(one.requests) for one in seeds)
    usd = first.usd_per_month(MONTH_H)
    return Priced(name, usd, max(late), first.p99_s, meets and usd is not None, False)


def cheapest(ways: Iterable[Priced]) -> Priced | None:
    """Of those that meet the goal."""
    return min((one for one in ways if one.meets and one.usd is not None), key=lambda one: one.rank, default=None)


def left_out(prices: Prices, named: bool) -> Sequence[str]:
    """What was not priced, and why. `named`: whether somebody said which types may be chosen."""
    told = [
        "an inference component per model, and asynchronous inference: they are not simulated",
        "savings plans, reserved and spot instances, provisioned concurrency: no price of them is known",
        f"other regions: these are the prices of {prices.source} (another list: --prices, --region)",
    ]
    if named:
        return told
    gpus = sum(bool(one.gpus) for one in CATALOGUE.values())
    unpriced = [name for name, one in CATALOGUE.items() if not one.gpus and prices.usd_per_hour(name) is None]
    told.append(f"{gpus} types with a GPU: nothing here predicts on one (name them by --instance-type)")
    if unpriced:
        few = f"{', '.join(unpriced[:SHOWN])}{', …' if len(unpriced) > SHOWN else ''}"
        told.append(
            f"{len(unpriced)} types whose price is not in the list ({few}): give a list that has them (--prices)"
        )
    return told


def at_full_speed(names: Iterable[str]) -> Sequence[str]:
    """What is to be said of the types that are only sometimes as fast as they are simulated."""
    known = {name: share for name in names if (share := burstable(name)) is not None}
    return [
        f"{name} is burstable, and simulated at full speed: without credits it has {share:.0%} of it"
        for name, share in sorted(known.items())
    ]
