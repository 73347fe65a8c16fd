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
    ],
)
def test_a_verdict_holds_up_to_its_memory(verdict: Verdict | None, then: TrialStep) -> None:
    assert step(verdict, GIB) is then


def test_a_model_that_ends_instances_while_it_predicts_is_quarantined_the_second_time() -> None:
    verdict = after_death(Verdict(), "SIGSEGV")
    assert step(verdict, GIB) is TrialStep.TRUST
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
