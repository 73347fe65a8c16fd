"""The rules of trials: which files are tried, trusted or refused, and how much a trial may use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.trials import (
    ALLOWANCE_MAX_BYTES,
    DEATHS_MAX,
    MIB,
    QUICK_MAX,
    SLOW_MAX,
    TrialStep,
    Verdict,
    after_death,
    allowance_bytes,
    alone_bytes,
    fits_a_share,
    limit_s,
    most_bytes,
    share_bytes,
    step,
)

GIB = 1024 * MIB


@pytest.mark.parametrize(
    ("verdict", "then"),
    [
        (None, TrialStep.TRY),
        (Verdict(), TrialStep.TRUST),
        (Verdict("it hung"), TrialStep.REFUSE),
        (Verdict("too large", limit_bytes=GIB), TrialStep.REFUSE),
        (Verdict("too large", limit_bytes=GIB - 1), TrialStep.TRY),
        (Verdict("too large", limit_bytes=1), TrialStep.TRY),
    ],
)
def test_a_verdict_holds_up_to_its_memory(verdict: Verdict | None, then: TrialStep) -> None:
    assert step(verdict, GIB) is then


def test_a_verdict_of_a_trial_that_got_no_processor_holds_until_the_machine_is_quiet() -> None:
    starved, slow = Verdict("too long", starved=True), Verdict("too long")
    assert [step(starved, GIB), step(starved, GIB, quiet=True)] == [TrialStep.REFUSE, TrialStep.TRY]
    assert [step(slow, GIB), step(slow, GIB, quiet=True)] == [TrialStep.REFUSE, TrialStep.REFUSE]


def test_a_verdict_says_no_more_than_it_is_told() -> None:
    assert Verdict() == Verdict("", limit_bytes=0, deaths=0, starved=False, predicted_s=0.0)


def test_a_model_that_ends_instances_while_it_predicts_is_quarantined_the_second_time() -> None:
    verdict = after_death(Verdict(), "SIGSEGV")
    assert step(verdict, GIB) is TrialStep.TRUST
    assert DEATHS_MAX == 2
    for _ in range(DEATHS_MAX - 1):
        verdict = after_death(verdict, "SIGSEGV")
    assert step(verdict, GIB) is TrialStep.REFUSE
    assert "SIGSEGV" in verdict.reason


@given(st.integers(MIB, 1024 * GIB), st.integers(0, 100 * GIB), st.integers(-GIB, 1024 * GIB))
def test_all_trials_together_stay_within_their_allowance_and_what_is_free(
    budget_bytes: int, disk_bytes: int, free_bytes: int
) -> None:
    shares = share_bytes(budget_bytes) * (QUICK_MAX + SLOW_MAX)
    alone = alone_bytes(budget_bytes, disk_bytes, free_bytes)
    assert shares + alone <= allowance_bytes(budget_bytes) + max(0, free_bytes)
    assert alone <= most_bytes(budget_bytes, disk_bytes)
    assert allowance_bytes(budget_bytes) <= ALLOWANCE_MAX_BYTES


def test_a_large_file_has_longer_and_never_longer_than_a_load_has() -> None:
    assert limit_s(0, 360.0) < limit_s(100 * MIB, 360.0) <= limit_s(100 * GIB, 360.0) == 360.0
    assert limit_s(8 * MIB, 360.0) == 5.0 + 2.0


@pytest.mark.parametrize(
    ("budget_mib", "allowance_mib"), [(0, 64), (256, 64), (257, 64.25), (512, 128), (1024, 256), (1028, 256)]
)
def test_trials_may_take_a_quarter_of_the_budget_within_their_bounds(budget_mib: int, allowance_mib: float) -> None:
    assert allowance_bytes(budget_mib * 2**20) == allowance_mib * 2**20
    assert share_bytes(budget_mib * MIB) == int(allowance_mib * MIB) // 8


def test_parts_of_a_budget_are_whole_bytes() -> None:
    odd = 300 * 2**20 + 29
    allowance = odd // 4
    found = [allowance_bytes(odd), share_bytes(odd), most_bytes(odd, 0), alone_bytes(odd, 0, 0), alone_bytes(odd, 9, 0)]
    assert found == [allowance, allowance // 8, *[allowance // 2] * 3]
    assert {type(number) for number in found} == {int}


def test_a_model_is_tried_with_a_share_first_if_it_may_grow_four_times_in_it() -> None:
    share = share_bytes(GIB)
    assert [fits_a_share(GIB, share // 4), fits_a_share(GIB, share // 4 + 1)] == [True, False]


def test_the_most_that_a_trial_gets_is_the_budget_and_a_hundred_times_its_files() -> None:
    assert most_bytes(GIB, 0) == 128 * MIB
    assert most_bytes(GIB, MIB) == 228 * MIB
    assert most_bytes(GIB, 100 * MIB) == GIB
    assert most_bytes(16 * MIB, 100 * MIB) == 32 * MIB  # half of the least allowance


def test_a_trial_alone_gets_half_of_the_allowance_and_what_is_free() -> None:
    free = [0, -MIB, MIB, 200 * MIB]
    assert [alone_bytes(GIB, MIB, one) // MIB for one in free] == [128, 128, 129, 228]
