"""Chooses the requests of a trace that are sent to a live endpoint, and the quiet between them that is skipped."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]

JUMP_S = 0.3
"""About how long it takes to move the clock over a quiet time, with all that falls due on the way."""


@dataclass(frozen=True)
class SendingBudget:
    """What sending may take. Quiet times of more than `gap_s` are skipped where the endpoint's clock can be moved."""

    wall_max_s: float
    requests_max: int
    speed: float = 1.0
    gap_s: float = inf

    def spent_s(self, times_s: Times) -> Times:
        """The seconds of real time before each request."""
        gaps_s = np.diff(times_s) / self.speed
        return np.concatenate(([0.0], np.cumsum(np.where(gaps_s > self.gap_s, JUMP_S, gaps_s))))


@dataclass(frozen=True)
class SentPart:
    """The requests `since` to `until` of a trace's `of`. `lasts_s` is from the first to the last, at the trace's own
    speed, and `quiet_s` is the quiet between them that is skipped."""

    since: int
    until: int
    of: int
    since_s: float
    lasts_s: float
    quiet_s: float
    speed: float

    @property
    def requests(self) -> int:
        return self.until - self.since

    @property
    def whole(self) -> bool:
        return self.requests == self.of


def chosen(times_s: Times, budget: SendingBudget) -> SentPart:
    """The part with most requests that the budget allows; of several, the first. At least one request."""
    spent_s, of = budget.spent_s(times_s), len(times_s)
    until = np.searchsorted(spent_s, spent_s + budget.wall_max_s, side="right")
    until = np.minimum(until, np.arange(of) + budget.requests_max)
    since = int((until - np.arange(of)).argmax())
    part = slice(since, int(until[since]))
    lasts_s = float(times_s[part.stop - 1] - times_s[since])
    gaps_s = np.diff(times_s[part]) / budget.speed
    quiet_s = float(gaps_s[gaps_s > budget.gap_s].sum()) * budget.speed
    return SentPart(since, part.stop, of, float(times_s[since] - times_s[0]), lasts_s, quiet_s, budget.speed)


def stretches(times_s: Times, gap_s: float) -> Iterator[slice]:
    """The requests between two quiet times of more than `gap_s`."""
    ends = [*(np.flatnonzero(np.diff(times_s) > gap_s) + 1).tolist(), len(times_s)]
    since = 0
    for end in ends:
        yield slice(since, end)
        since = end
