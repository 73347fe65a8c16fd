"""The course of a tuning job: which training job is the best so far, how many begin next, and when it is over."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TuningGoal:
    """What a tuning job was asked for. `jobs` is the most training jobs, `target` the value that is enough, and
    `not_improving` so many training jobs without a better one end it."""

    maximize: bool
    jobs: int
    parallel: int
    target: float | None = None
    not_improving: int | None = None

    def loss(self, value: float) -> float:
        """The value as a loss: less is better."""
        return -value if self.maximize else value


@dataclass(frozen=True)
class TrialSeen:
    """One training job of the tuning job. `value` is that of the objective metric; None without one."""

    over: bool
    value: float | None


@dataclass(frozen=True)
class TuningPlan:
    """What comes next: `launch` training jobs begin. `enough` says that those which run are stopped, and `over` that
    none runs and none will."""

    launch: int = 0
    enough: bool = False
    over: bool = False


def best(goal: TuningGoal, trials: Sequence[TrialSeen]) -> int | None:
    """The place of the best trial that is over; the earlier one of two equal ones. None before there is one."""
    known = [(goal.loss(trial.value), at) for at, trial in enumerate(trials) if trial.over and trial.value is not None]
    return min(known)[1] if known else None


def planned(goal: TuningGoal, trials: Sequence[TrialSeen]) -> TuningPlan:
    """What comes next after these trials, which are in the order in which they began."""
    running = sum(not trial.over for trial in trials)
    if _is_enough(goal, trials):
        return TuningPlan(enough=True, over=not running)
    launch = max(min(goal.parallel - running, goal.jobs - len(trials)), 0)
    return TuningPlan(launch=launch, over=not running and not launch)


def _is_enough(goal: TuningGoal, trials: Sequence[TrialSeen]) -> bool:
    top = best(goal, trials)
    if top is None:
        return False
    value = trials[top].value
    assert value is not None, "the best trial has a value"
    if goal.target is not None and goal.loss(value) <= goal.loss(goal.target):
        return True
    return goal.not_improving is not None and sum(trial.over for trial in trials[top + 1 :]) >= goal.not_improving
