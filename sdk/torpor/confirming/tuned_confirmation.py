"""Confirms the best few choices of a tuning by live runs, until one meets the goal live."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torpor.confirming.plan_confirmation import Confirmation
from torpor.simulator.planning.recorded_plan import ConfirmablePlan
from torpor.simulator.planning.search import PlanCandidate
from torpor.simulator.tuning.tune_result import TuneResult


@dataclass(frozen=True, eq=False)
class TunedConfirmation:
    """A choice of a tuning beside what a live endpoint of it did."""

    candidate: PlanCandidate
    confirmation: Confirmation


def confirm_best(
    found: TuneResult, most: int, confirm: Callable[[ConfirmablePlan], Confirmation]
) -> Iterator[TunedConfirmation]:
    """Confirm the best and then the next best choices, `most` of them, until one meets the goal live. Raises what
    `confirm` does."""
    for number, candidate in enumerate(best_first(found)):
        if number == most:
            return
        done = confirm(found.confirmable(candidate))
        yield TunedConfirmation(candidate, done)
        if done.compared.live_meets:
            return


def best_first(found: TuneResult) -> Iterator[PlanCandidate]:
    """The best choice, and then the others that meet the goal, from cheap to dear. Of those with the same price and the
    same share of late requests there is one: the settings in which they differ make no difference. Those that another
    seed refuted are left out."""
    if found.best is None:
        return
    yield found.best
    refuted = {one.scenario for one in found.finalists if not one.meets}
    ranks = {one.rank for one in found.tried if one.scenario == found.best.scenario}
    for trial in sorted((one for one in found.tried if one.meets), key=lambda one: one.rank):
        if trial.rank in ranks or trial.scenario in refuted or trial.candidate is None:
            continue
        ranks.add(trial.rank)
        yield trial.candidate
