"""Compares outcomes with the measurements, and with the errors that SimFaaS's authors report."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean, stdev

from benchmarks.simfaas.measured import Experiment
from benchmarks.simfaas.model import Outcome

PUBLISHED_PERCENT = {"cold_share": 12.23, "instances": 3.05, "utilisation": 16.0}
"""One run of theirs. Their notebook (`examples/04-Experiment-Comparison.ipynb`) prints 0.16 % for the utilisation, but
its formula lacks the x 100 that the other two have: a mean of |simulated - measured| / measured of 0.16 is 16 %."""


@dataclass(frozen=True)
class Spread:
    """One measure's mean absolute percentage error, over the seeds."""

    measure: str
    mean: float
    deviation: float
    lowest: float
    highest: float
    published: float


def spreads(listed: list[Experiment], runs: list[list[Outcome]]) -> list[Spread]:
    """A run has an outcome for each experiment, in their order. Takes two runs or more."""
    return [_spread(measure, [error_percent(measure, listed, run) for run in runs]) for measure in PUBLISHED_PERCENT]


def _spread(measure: str, errors: list[float]) -> Spread:
    return Spread(measure, fmean(errors), stdev(errors), min(errors), max(errors), PUBLISHED_PERCENT[measure])


def error_percent(measure: str, listed: list[Experiment], run: list[Outcome]) -> float:
    """The mean absolute percentage error of one measure."""
    of: Callable[[Experiment | Outcome], float] = attrgetter(measure)
    return 100 * fmean(abs(of(got) / of(seen) - 1) for seen, got in zip(listed, run, strict=True))


@dataclass(frozen=True)
class Row:
    """One experiment: measured, and the mean over the seeds."""

    name: str
    rate_hz: float
    cold_share: float
    cold_share_error: float
    simulated_cold_share: float
    instances: float
    simulated_instances: float
    utilisation: float
    simulated_utilisation: float


def rows(listed: list[Experiment], runs: list[list[Outcome]]) -> list[Row]:
    return [_row(seen, got) for seen, got in zip(listed, zip(*runs, strict=True), strict=True)]


def _row(seen: Experiment, got: tuple[Outcome, ...]) -> Row:
    return Row(
        seen.name,
        seen.rate_hz,
        seen.cold_share,
        seen.cold_share_error,
        fmean(one.cold_share for one in got),
        seen.instances,
        fmean(one.instances for one in got),
        seen.utilisation,
        fmean(one.utilisation for one in got),
    )


def within(listed: list[Row], errors: float) -> int:
    """In how many experiments the simulated cold share is within so many standard errors of the measured one."""
    return sum(abs(row.simulated_cold_share - row.cold_share) <= errors * row.cold_share_error for row in listed)
