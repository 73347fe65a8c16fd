"""Whether a version of an artifact may be loaded, must be tried first, or is quarantined: rules over values.

A *trial* loads a version in a process of its own, under limits, before the instance does. Its *verdict* is kept.
"""

from dataclasses import dataclass
from enum import Enum, auto

MIB = 1024 * 1024
SHARE_OF_BUDGET = 4
"""All trials together may take this part of the instance's memory beside it: one in four."""
ALLOWANCE_MIN_BYTES, ALLOWANCE_MAX_BYTES = 64 * MIB, 256 * MIB
QUICK_MAX, SLOW_MAX = 2, 2
"""Trials that run side by side: those that have just begun, and those that take their time. They share one half of the
allowance; one trial that needs more has the other half, and whatever memory is free in the instance."""
GROWTH = 4
"""A model whose files have a larger part of a share than one in four does not try with a share first."""
MOST_RATIO = 100
"""A file that takes more than this many times its size, and all that a trial is allowed, would take everything."""
FIXED_S, BYTES_PER_S = 5.0, 4 * MIB
DEATHS_MAX = 2
"""So many ends of an instance while a model predicted, and it is quarantined."""


class TrialStep(Enum):
    """What is to be done with a version that somebody wants loaded."""

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


@dataclass(frozen=True)
class Verdict:
    """What is known of a version: `reason` says why it is quarantined, and is empty where it is good.

    `limit_bytes` is the memory that it was given, where that was too little. `software` is what tried it. `deaths`
    counts the ends of instances while it predicted.
    """

    reason: str
    software: str
    limit_bytes: int = 0
    deaths: int = 0


def step(verdict: Verdict | None, software: str, most_bytes: int) -> TrialStep:
    """A verdict holds for the software that made it, and for as little memory as was given."""
    if verdict is None or verdict.software != software:
        return TrialStep.TRY
    if not verdict.reason:
        return TrialStep.TRUST
    return TrialStep.TRY if 0 < verdict.limit_bytes < most_bytes else TrialStep.REFUSE


def after_death(verdict: Verdict | None, software: str, how: str) -> Verdict:
    """The verdict on a version that predicted as an instance ended."""
    deaths = 1 + (verdict.deaths if verdict is not None and verdict.software == software else 0)
    reason = f"an instance ended {deaths} times while it predicted ({how})" if deaths >= DEATHS_MAX else ""
    return Verdict(reason, software, deaths=deaths)


def allowance_bytes(budget_bytes: int) -> int:
    """What all trials of an instance may take together, beside its budget."""
    return min(max(budget_bytes // SHARE_OF_BUDGET, ALLOWANCE_MIN_BYTES), ALLOWANCE_MAX_BYTES)


def share_bytes(budget_bytes: int) -> int:
    """What one trial may take as long as others may run beside it."""
    return allowance_bytes(budget_bytes) // 2 // (QUICK_MAX + SLOW_MAX)


def fits_a_share(budget_bytes: int, disk_bytes: int) -> bool:
    """Whether a share is worth a trial."""
    return disk_bytes * GROWTH <= share_bytes(budget_bytes)


def most_bytes(budget_bytes: int, disk_bytes: int) -> int:
    """The most that a trial is ever given: beyond it the version is quarantined."""
    alone_bytes = allowance_bytes(budget_bytes) // 2
    return min(max(budget_bytes, alone_bytes), alone_bytes + MOST_RATIO * disk_bytes)


def alone_bytes(budget_bytes: int, disk_bytes: int, free_bytes: int) -> int:
    """What a trial that shares with none may take now: its half of the allowance, and what is free in the instance."""
    return min(most_bytes(budget_bytes, disk_bytes), allowance_bytes(budget_bytes) // 2 + max(0, free_bytes))


def limit_s(disk_bytes: int, load_timeout_s: float) -> float:
    """How long a trial may take."""
    return min(FIXED_S + disk_bytes / BYTES_PER_S, load_timeout_s)
