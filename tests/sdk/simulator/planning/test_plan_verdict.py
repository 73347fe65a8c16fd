"""Whether a plan's verdict is sure, or at the bound of its goal."""

from dataclasses import dataclass

import pytest

import torpor
from torpor.cli.commands.studies.plan import verdict
from torpor.simulator.planning.plan_space import Goal
from torpor.simulator.planning.plan_verdict import PlanVerdict, at_bound, doubts, wilson

GOAL = Goal(slo_s=0.05, quantile=0.99)


@dataclass(frozen=True)
class Answered:
    """A result: of its requests, `slow` took `slow_s`, and the others no time."""

    slow_s: float
    slow: int = 150
    requests: int = 10_000

    def slo_misses(self, slo_s: float) -> float:
        return self.slow / self.requests if self.slow_s > slo_s else 0.0


@pytest.mark.parametrize(
    ("slow_s", "undecided"), [(0.0454, False), (0.0456, True), (0.0549, True), (0.0551, False), (1.0, False)]
)
def test_a_verdict_is_at_its_bound_if_times_a_tenth_off_would_reverse_it(slow_s: float, undecided: bool) -> None:
    assert at_bound(GOAL, Answered(slow_s)) == undecided


def test_few_slow_requests_are_within_the_goal_however_slow_they_are() -> None:
    assert not at_bound(GOAL, Answered(0.05, slow=100))
    assert not list(doubts(GOAL, [Answered(9.0, slow=50)]))


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([Answered(0.0)], []),
        ([Answered(0.046)], ["if requests took 10% longer, as they may live, it would miss the goal"]),
        ([Answered(1.0, 5), Answered(1.0)], ["1 of 2 seeds miss the goal"]),
        ([Answered(1.0, 95)], ["of more such traffic 1.2 % may be late, and 1 % is allowed"]),
        ([Answered(0.0, requests=900)], ["900 requests are too few for it, which takes 1,000"]),
    ],
)
def test_each_doubt_about_a_plan_is_said(results: list[Answered], said: list[str]) -> None:
    assert list(doubts(GOAL, results)) == said


def test_the_interval_of_a_share_holds_it_and_narrows_with_more_requests() -> None:
    least, most = wilson(10, 1_000)
    assert least < 0.01 < most
    closer = wilson(1_000, 100_000)
    assert least < closer[0] < 0.01 < closer[1] < most
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_last_line_says_whether_the_plan_meets_its_goal_for_sure() -> None:
    space = torpor.PlanSpace(["ml.t2.medium"], instances_max=1, idle_s=[])
    sure = torpor.plan("zipf:models=3,rate_hz=20,duration_s=60", slo_s=60.0, space=space, seeds=1)
    assert (sure.verdict, sure.doubts) == (PlanVerdict.MEETS, ())
    assert verdict(sure) == "The verdict: 1 x ml.t2.medium, LRU meets the goal, 99 % of the requests within 60,000 ms."
    few = torpor.plan("zipf:models=3,rate_hz=2,duration_s=60", slo_s=60.0, space=space, seeds=1)
    assert few.verdict == PlanVerdict.UNDECIDED
    assert verdict(few).startswith("The verdict on 1 x ml.t2.medium, LRU is undecided, at its bound: ")
    assert few.doubts[0].endswith("requests are too few for it, which takes 1,000")
    none = torpor.plan("zipf:models=3,rate_hz=2,duration_s=60", slo_s=0.0001, space=space, seeds=1)
    assert (none.verdict, none.doubts) == (PlanVerdict.NONE, ())
    assert verdict(none) == "The verdict: nothing meets the goal, 99 % of the requests within 0.1 ms."
