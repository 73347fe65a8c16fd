"""The rhythm of days and weeks: maps a time scale with constant load to clock time. It draws nothing.

At Azure about half of the load is constant, and the rest is daily and weekly; FaasCache found a platform's peak at
twice its mean. So the varying part has its peak at three times its own mean.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from torpor.time_units import DAY_S
from torpor.workloads.trace import Times

WEEK_S = 7 * DAY_S
STEP_S = 300.0


@dataclass(frozen=True)
class Rhythm:
    """Time 0 is midnight before a Monday. `sharpness` 0 is a constant day; 1.76 has a peak of three times the mean."""

    peak_hour: float = 14.0
    sharpness: float = 1.76
    weekend: float = 0.7  # the load of a weekend's day, as a share of another day's

    def even_s(self, time_s: float, constant: float) -> float:
        """The even time at a clock time, for a load whose share `constant` (0 to 1) does not vary."""
        weeks, rest_s = divmod(time_s, WEEK_S)
        return weeks * WEEK_S + float(np.interp(rest_s, self._moments_s, self._passed_s(constant)))

    def clock_s(self, even_s: Times, constant: float) -> Times:
        """The clock times at even times."""
        weeks, rest_s = np.divmod(even_s, WEEK_S)
        moments_s: Times = weeks * WEEK_S + np.interp(rest_s, self._passed_s(constant), self._moments_s)
        return moments_s

    def _passed_s(self, constant: float) -> Times:
        passed_s: Times = constant * self._moments_s + (1 - constant) * self._varying_s
        return passed_s

    @cached_property
    def _moments_s(self) -> Times:
        return np.arange(0, WEEK_S + STEP_S, STEP_S)

    @cached_property
    def _varying_s(self) -> Times:
        """The even time at each step of a week, for the varying part of the load."""
        middle_s = self._moments_s[:-1] + STEP_S / 2
        angle = 2 * np.pi * (middle_s / DAY_S - self.peak_hour / 24)
        load = np.exp(self.sharpness * np.cos(angle)) * np.where(middle_s < 5 * DAY_S, 1.0, self.weekend)
        return np.concatenate(([0.0], np.cumsum(load) * (WEEK_S / load.sum())))


EVEN = Rhythm(sharpness=0.0, weekend=1.0)
DAILY = Rhythm()
