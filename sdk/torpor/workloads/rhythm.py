"""The rhythm of days and weeks: maps time in which load is even to the time of clocks. It draws nothing.

Of the load at Azure about half is constant, the rest daily and weekly; FaasCache found the peak of a platform at twice
its mean. So the part that varies has its peak at three times its own mean.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from torpor.spans import DAY_S
from torpor.workloads.trace import Times

WEEK_S = 7 * DAY_S
STEP_S = 300.0


@dataclass(frozen=True)
class Rhythm:
    """Time zero is midnight before a Monday. `sharpness` 0 is an even day; 1.76 has a peak of three times the mean."""

    peak_hour: float = 14.0
    sharpness: float = 1.76
    weekend: float = 0.7  # a day of the weekend, to another

    def even_s(self, time_s: float, constant: float) -> float:
        """How much even time has passed at this moment, for a load of which `constant` (0 to 1) does not vary."""
        weeks, rest_s = divmod(time_s, WEEK_S)
        return weeks * WEEK_S + float(np.interp(rest_s, self._moments_s, self._passed_s(constant)))

    def clock_s(self, even_s: Times, constant: float) -> Times:
        """The moments at which so much even time has passed."""
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
        """Even time passed at each moment of a week, for the part of the load that varies."""
        middle_s = self._moments_s[:-1] + STEP_S / 2
        angle = 2 * np.pi * (middle_s / DAY_S - self.peak_hour / 24)
        load = np.exp(self.sharpness * np.cos(angle)) * np.where(middle_s < 5 * DAY_S, 1.0, self.weekend)
        return np.concatenate(([0.0], np.cumsum(load) * (WEEK_S / load.sum())))


EVEN = Rhythm(sharpness=0.0, weekend=1.0)
DAILY = Rhythm()
