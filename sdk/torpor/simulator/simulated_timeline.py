"""A simulation over time: requests, cold ones, and the state of the variant, in steps whose number does not grow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor.simulator.engine.latency_histogram import Counts, Floats
from torpor.simulator.engine.simulated_variant import VariantReading

PERIOD_S = 60.0
ROWS_MAX = 2_000
"""The most steps. The steps of a longer simulation are longer: they double when this many are full."""

NOTHING = VariantReading(0.0, 0, 0, 0, 0)


class Timeline:
    """Requests, cold requests and the variant's state for each step. Of several readings in a step, the last one
    counts."""

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self.period_s = period_s
        self._requests: Counts = np.zeros(ROWS_MAX, np.int64)
        self._cold: Counts = np.zeros(ROWS_MAX, np.int64)
        self._readings: list[VariantReading] = []
        self._used = 0

    def calls(self, arrived_s: Floats, cold: NDArray[np.bool_]) -> None:
        while float(arrived_s.max()) >= self.period_s * ROWS_MAX:
            self._double_period()
        steps = (arrived_s / self.period_s).astype(np.intp)
        self._requests += np.bincount(steps, minlength=ROWS_MAX)
        self._cold += np.bincount(steps[cold], minlength=ROWS_MAX)
        self._used = max(self._used, int(steps.max()) + 1)

    def add(self, reading: VariantReading) -> None:
        while reading.at_s > self.period_s * ROWS_MAX:
            self._double_period()
        if self._readings and self._step(self._readings[-1]) == self._step(reading):
            self._readings.pop()
        self._readings.append(reading)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name, with a row for each step: `at_s` is its beginning, and the state is that at its end."""
        rows = max(self._used, self._step(self._readings[-1]) + 1 if self._readings else 0)
        at_s = np.arange(rows) * self.period_s
        read_s = np.array([reading.at_s for reading in self._readings])
        places = np.searchsorted(read_s, at_s + self.period_s, side="right") - 1
        readings = [self._readings[max(0, place)] if self._readings else NOTHING for place in places.tolist()]
        there = {
            name: np.array([getattr(reading, name) for reading in readings], np.int64)
            for name in ("instances", "in_flight", "models", "memory_bytes")
        }
        return {"at_s": at_s, "requests": self._requests[:rows], "cold": self._cold[:rows], **there}

    def _step(self, reading: VariantReading) -> int:
        """The number of the step in which, or at the end of which, the reading was taken."""
        return max(0, int(np.ceil(reading.at_s / self.period_s)) - 1)

    def _double_period(self) -> None:
        self.period_s *= 2
        for counted in (self._requests, self._cold):
            counted[: ROWS_MAX // 2] = counted[0::2] + counted[1::2]
            counted[ROWS_MAX // 2 :] = 0
        self._readings = list({self._step(reading): reading for reading in self._readings}.values())
        self._used = (self._used + 1) // 2
