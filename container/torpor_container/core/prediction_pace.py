"""Decides whether a model predicts quickly enough for the event loop. It knows no clock and no thread.

Processor time shows what a prediction costs, also on a busy machine. Wall time shows a model that waits for something,
such as another server: that costs no processor time, and still holds up the loop.
"""

from math import inf
from typing import Final

CHEAP_S: Final = 0.001
"""Usual processor time below which a model is cheap: to wake a thread and then the loop costs half of that."""
WAITS_S: Final = 0.01
"""A model waits for something if none of its last few predictions took less wall time than this. Another thread that
computes in Python can take half of it (`sys.getswitchinterval`), so that alone is no sign of waiting."""
LONG_S: Final = 0.05
"""One prediction that held up the event loop for this much wall time is enough to take its model off the loop."""
LEARNING: Final = 0.2
FEW: Final = 5
TRIAL: Final = 16
"""A model that held up the event loop comes back after this many predictions in a row, none of them long."""


class PredictionPace:
    """The pace of one model. If several threads measure at once, it may miss one prediction, which does no harm."""

    __slots__ = ("_last_s", "_on_trial", "_usual_s", "cheap")

    def __init__(self) -> None:
        self.cheap = False
        self._usual_s = inf
        self._last_s: tuple[float, ...] = ()
        self._on_trial = 0

    def took(self, cpu_s: float, wall_s: float) -> None:
        """A prediction was measured."""
        usual_s = self._usual_s if self._usual_s < inf else cpu_s
        self._usual_s = usual_s + LEARNING * (cpu_s - usual_s)
        self._last_s = last_s = (*self._last_s[1 - FEW :], wall_s)
        if self._on_trial:
            self._on_trial = self._on_trial - 1 if wall_s <= LONG_S else TRIAL
        self.cheap = not self._on_trial and self._usual_s < CHEAP_S and min(last_s) < WAITS_S

    def held_up(self) -> None:
        """A prediction held up the event loop: forget what was measured before."""
        self.cheap = False
        self._usual_s = inf
        self._on_trial = TRIAL  # the last few are of the trial when it ends
