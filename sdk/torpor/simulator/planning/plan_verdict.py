"""How sure the verdict of a plan is: it meets its goal, or it is too near the goal's bound for a forecast to tell.

A verdict is undecided where the spread over seeds or over more such traffic reaches the bound, and where times that are
off by as much as a forecast's may be would reverse it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from math import sqrt

from torpor.simulator.planning.plan_space import Goal, Judged

TIMES_WITHIN = 0.1
"""By how much a forecast's latencies may be off: the aim of the simulator for p99, beside a live endpoint."""


class PlanVerdict(StrEnum):
    MEETS = "meets the goal"
    UNDECIDED = "undecided"
    NONE = "nothing meets the goal"


def at_bound(goal: Goal, result: Judged) -> bool:
    """Whether the verdict on a result would be the opposite if all its requests took a tenth more, or a tenth less."""
    longer, shorter = goal.slo_s * (1 + TIMES_WITHIN), goal.slo_s / (1 + TIMES_WITHIN)
    return replace(goal, slo_s=longer).met(result) != replace(goal, slo_s=shorter).met(result)


def doubts(goal: Goal, results: Sequence[Judged]) -> Iterator[str]:
    """Why the verdict on a plan is undecided, in words; `results` has one for each seed. Nothing where it is sure."""
    if missed := sum(not goal.met(one) for one in results):
        yield f"{missed} of {len(results)} seeds miss the goal"
    requests, late_max = sum(one.requests for one in results), 1 - goal.quantile
    if requests < goal.enough:
        yield f"{requests:,} requests are too few for it, which takes {goal.enough:,}"
    most = wilson(sum(map(goal.late, results)), requests)[1]
    if most > late_max:
        yield f"of more such traffic {most * 100:.2g} % may be late, and {late_max * 100:.6g} % is allowed"
    if not missed and any(at_bound(goal, one) for one in results):
        yield f"if requests took {TIMES_WITHIN:.0%} longer, as they may live, it would miss the goal"


def wilson(some: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % confidence interval of a share: `some` of `of`."""
    if not of:
        return 0.0, 1.0
    share, z = some / of, 1.96
    middle, half = share + z * z / (2 * of), z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(0.0, (middle - half) / (1 + z * z / of)), min(1.0, (middle + half) / (1 + z * z / of))
