"""The course of a tuning job: how many training jobs begin, which is the best, and when there are enough."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.tuning.tuning_course import TrialSeen, TuningGoal, TuningPlan, best, planned

GOAL = TuningGoal(maximize=False, jobs=5, parallel=2)
RUNS, FAILED = TrialSeen(False, None), TrialSeen(True, None)


def ended(*values: float) -> list[TrialSeen]:
    return [TrialSeen(True, value) for value in values]


def test_as_many_begin_as_may_run_at_once_and_as_are_left() -> None:
    assert planned(GOAL, []) == TuningPlan(launch=2)
    assert planned(GOAL, [RUNS]) == TuningPlan(launch=1)
    assert planned(GOAL, [*ended(1, 2, 3), RUNS]) == TuningPlan(launch=1)
    assert planned(GOAL, [*ended(1, 2, 3, 4), RUNS]) == TuningPlan()
    assert planned(GOAL, [*ended(1, 2, 3, 4), FAILED]) == TuningPlan(over=True)


def test_the_best_has_the_least_or_the_greatest_value() -> None:
    trials = [FAILED, *ended(3, 1, 2, 1), TrialSeen(False, 0.0)]
    assert best(GOAL, trials) == 2
    assert best(replace(GOAL, maximize=True), trials) == 1
    assert best(GOAL, [FAILED, RUNS]) is None


def test_a_value_as_good_as_the_target_is_enough() -> None:
    goal = replace(GOAL, target=1.0)
    assert planned(goal, ended(1.1)) == TuningPlan(launch=2)
    assert planned(goal, [*ended(1.0), RUNS]) == TuningPlan(enough=True)
    assert planned(goal, ended(1.0)) == TuningPlan(enough=True, over=True)
    assert planned(replace(goal, maximize=True), ended(1.0)).enough
    assert not planned(replace(goal, maximize=True), ended(0.9)).enough


def test_jobs_without_a_better_value_are_enough() -> None:
    goal = replace(GOAL, not_improving=2)
    assert planned(goal, ended(1, 2)) == TuningPlan(launch=2)
    assert planned(goal, [*ended(1, 2), FAILED]).enough
    assert planned(goal, [*ended(1, 2), RUNS]) == TuningPlan(launch=1)
    assert not planned(goal, ended(2, 3, 1)).enough


@given(st.integers(1, 6), st.integers(1, 9), st.booleans(), st.randoms(use_true_random=False))
def test_every_course_ends_with_as_many_jobs_as_were_asked_for(
    parallel: int, jobs: int, maximize: bool, order: st.DataObject
) -> None:
    """Whatever ends first, never more run than may."""
    goal = TuningGoal(maximize, jobs, parallel)
    trials: list[TrialSeen] = []
    while not (plan := planned(goal, trials)).over:
        trials += [RUNS] * plan.launch
        running = [at for at, trial in enumerate(trials) if not trial.over]
        assert 0 < len(running) <= parallel
        trials[order.choice(running)] = TrialSeen(True, order.choice([None, 0.5, 1.0]))  # type: ignore[attr-defined]
    assert len(trials) == jobs
