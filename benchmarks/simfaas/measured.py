"""The published measurements on AWS Lambda (`experiments.LICENSE` has the source), and their errors."""

import csv
from dataclasses import dataclass
from math import pi, sqrt
from pathlib import Path
from statistics import fmean

FILE = Path(__file__).parent / "experiments.csv"
IDLE_S = 600.0
"""The seconds that an idle instance stays, in all experiments."""


@dataclass(frozen=True)
class Experiment:
    """One function under Poisson requests: its load, and its measurements."""

    name: str
    rate_hz: float
    warm_s: float
    cold_s: float
    cold_share: float
    cold_share_error: float  # its standard error
    instances: float
    utilisation: float


def experiments() -> list[Experiment]:
    """By rate, the lowest first."""
    with FILE.open(newline="") as lines:
        found = [_experiment(row) for row in csv.DictReader(lines)]
    return sorted(found, key=lambda one: one.rate_hz)


def _experiment(row: dict[str, str]) -> Experiment:
    return Experiment(
        row[""],
        float(row["ArrivalRate"]),
        float(row["ServiceTimeWarm"]) / 1000,
        float(row["ServiceTimeCold"]) / 1000,
        float(row["ColdStartProbability"]),
        float(row["ColdStartProbabilitySE"]),
        float(row["AverageInstanceCount"]),
        float(row["AverageUtilization"]),
    )


def relative_error_percent(listed: list[Experiment]) -> float:
    """The mean standard error of a cold share, in percent of the share."""
    return 100 * fmean(one.cold_share_error / one.cold_share for one in listed)


def floor_percent(listed: list[Experiment]) -> float:
    """The error that a perfect model would show of the cold share: the mean of |x| is sqrt(2/pi) of x's deviation."""
    return sqrt(2 / pi) * relative_error_percent(listed)


def utilisation_gap_percent(listed: list[Experiment]) -> float:
    """How far the measured utilisation is from rate x service time / instances (Little's law), all of them measured."""
    return 100 * fmean(abs(_offered(one) / one.instances / one.utilisation - 1) for one in listed)


def _offered(one: Experiment) -> float:
    """Busy instances by Little's law."""
    return one.rate_hz * (one.warm_s + one.cold_share * (one.cold_s - one.warm_s))
