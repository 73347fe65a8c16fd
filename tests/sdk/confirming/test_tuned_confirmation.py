"""The order of live runs: the best first, then what is really another choice, until one meets the goal live."""

from functools import cache
from types import SimpleNamespace
from typing import cast

import pytest

from torpor.cli.commands.tuning.live_runs import chosen, ended
from torpor.cli.exit_codes import ExitCode
from torpor.confirming.plan_confirmation import Confirmation
from torpor.confirming.tuned_confirmation import TunedConfirmation, best_first, confirm_best
from torpor.simulator.planning.recorded_plan import ConfirmablePlan
from torpor.simulator.tuning.tune_result import TuneResult
from torpor.simulator.tuning.tune_space import TuneSpace
from torpor.simulator.tuning.tuned_variant import tune


@cache
def found() -> TuneResult:
    space = TuneSpace(("ml.t2.medium", "ml.m5.large"), instances=(1, 2), ways=("always on",), policies=("LRU",))
    return tune("zipf:models=6,rate_hz=2,duration_s=20", slo_s=2.0, quantile=0.8, space=space, evaluations=14, seeds=1)


def lived(*meets: bool | None) -> list[TunedConfirmation]:
    """The live runs of the best choices, which end so in turn."""
    outcomes = iter(meets)

    def confirm(plan: ConfirmablePlan) -> Confirmation:
        done = SimpleNamespace(
            compared=SimpleNamespace(live_meets=next(outcomes)), replayed=SimpleNamespace(interrupted=False)
        )
        return cast(Confirmation, done)

    return list(confirm_best(found(), len(meets), confirm))


def test_choices_that_are_alike_are_confirmed_once() -> None:
    order = list(best_first(found()))
    assert order[0] is found().best
    figures = [(round(one.results[0].usd_per_month() or 0.0, 2), one.results[0].slo_misses(2.0)) for one in order]
    assert len(set(figures)) == len(figures) > 1
    assert len(order) < sum(one.meets for one in found().tried)


def test_what_meets_the_goal_live_ends_the_runs_and_is_proposed() -> None:
    done = lived(False, True, True)
    assert [one.candidate for one in done] == list(best_first(found()))[:2]
    assert chosen(found(), done) is done[1].candidate
    assert ended(found(), done) == ExitCode.DONE


@pytest.mark.parametrize(
    ("meets", "code", "proposed"),
    [
        ((), ExitCode.DONE, 0),
        ((False, False), ExitCode.FAILED, None),
        ((False, None), ExitCode.TOO_BUSY, 1),
        ((None, False), ExitCode.TOO_BUSY, 0),
    ],
)
def test_what_a_live_run_refuted_is_not_proposed(
    meets: tuple[bool | None, ...], code: ExitCode, proposed: int | None
) -> None:
    done = lived(*meets)
    assert ended(found(), done) == code
    expected = None if proposed is None else list(best_first(found()))[proposed]
    assert chosen(found(), done) is expected
