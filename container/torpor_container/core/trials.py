"""Decides whether a version of an artifact may be loaded, must be tried first, or is quarantined: rules over values.

A *trial* loads a version in a process of its own, under limits, before the instance does. Its *verdict* is kept.
"""

from enum import Enum, auto

from torpor_container.frozen_class import frozen

MIB = 1024 * 1024
SHARE_OF_BUDGET = 4
"""All trials together may take one part in this many of the instance's memory, in addition to it."""
ALLOWANCE_MIN_BYTES, ALLOWANCE_MAX_BYTES = 64 * MIB, 256 * MIB
QUICK_MAX, SLOW_MAX = 2, 2
"""How many trials run side by side: new ones, and ones that take long. They share one half of the allowance. One trial
that needs more gets the other half, and whatever memory is free in the instance."""
GROWTH = 4
"""A model whose files take more than one part in this many of a share is not tried with a share first."""
MOST_RATIO = 100
"""A trial is never given more than its allowance and this many times the size of the files."""
FIXED_S, BYTES_PER_S = 5.0, 4 * MIB
DEATHS_MAX = 2
"""A model is quarantined after this many ends of an instance while it predicted."""


class TrialStep(Enum):
    """What to do with a version before its load."""

    TRY = auto()
    TRUST = auto()
    REFUSE = auto()


class End(Enum):
    """How a trial ended."""

    GOOD = auto()
    REFUSED = auto()  # the model's own error, as it would have been in the instance
    DIED = auto()
    EXCEEDED = auto()  # its limit on memory
    TOO_LONG = auto()


@frozen
class Verdict:
    """The result of a trial: `reason` says why the version is quarantined; it is empty for a good one.

    `limit_bytes` is the memory that it was given, if that was too little, else 0. `deaths` counts the ends of instances
    while it predicted. `starved`: the trial took too long, and got little of the processor time that it wanted.
    `predicted_s` is the processor time that a good one took to predict a row; 0 if it was not measured.
    """

    reason: str = ""
    limit_bytes: int = 0
    deaths: int = 0
    starved: bool = False
    predicted_s: float = 0.0


def step(verdict: Verdict | None, most_bytes: int, quiet: bool = False) -> TrialStep:
    """What to do next. A verdict holds for no more memory than its trial was given. That of a starved trial holds until
    the machine may be `quiet`."""
    if verdict is None:
        return TrialStep.TRY
    if not verdict.reason:
        return TrialStep.TRUST
    lifted = (verdict.starved and quiet) or 0 < verdict.limit_bytes < most_bytes
    return TrialStep.TRY if lifted else TrialStep.REFUSE


def after_death(verdict: Verdict, how: str) -> Verdict:
    """The verdict on a version that predicted as an instance ended."""
    deaths = 1 + verdict.deaths
    reason = f"an instance ended {deaths} times while it predicted ({how})" if deaths >= DEATHS_MAX else ""
    return Verdict(reason, deaths=deaths)


def allowance_bytes(budget_bytes: int) -> int:
    """What all trials of an instance may take together, in addition to its budget."""
    return min(max(budget_bytes // SHARE_OF_BUDGET, ALLOWANCE_MIN_BYTES), ALLOWANCE_MAX_BYTES)


def share_bytes(budget_bytes: int) -> int:
    """What one trial may take while others may run beside it."""
    return allowance_bytes(budget_bytes) // 2 // (QUICK_MAX + SLOW_MAX)


def fits_a_share(budget_bytes: int, disk_bytes: int) -> bool:
    """Whether a trial with one share makes sense."""
    return disk_bytes * GROWTH <= share_bytes(budget_bytes)


def most_bytes(budget_bytes: int, disk_bytes: int) -> int:
    """The most that a trial is ever given: beyond it the version is quarantined."""
    alone_bytes = allowance_bytes(budget_bytes) // 2
    return min(max(budget_bytes, alone_bytes), alone_bytes + MOST_RATIO * disk_bytes)


def alone_bytes(budget_bytes: int, disk_bytes: int, free_bytes: int) -> int:
    """What a trial without others may take now: half of the allowance, and what is free in the instance."""
    return min(most_bytes(budget_bytes, disk_bytes), allowance_bytes(budget_bytes) // 2 + max(0, free_bytes))


def limit_s(disk_bytes: int, load_timeout_s: float) -> float:
    """How much processor time a trial may take, in seconds, and how long it may rest; see `core.work_wait`."""
    return min(FIXED_S + disk_bytes / BYTES_PER_S, load_timeout_s)
