"""Whether a model predicts so quickly that nobody else need go on meanwhile. It knows no clock and no thread.

Processor time tells what a prediction costs, also on a busy machine. Wall time shows a model that waits for something,
such as another server: that costs nothing, and holds up whoever waits for it.
"""

from math import inf
from typing import Final

CHEAP_S: Final = 0.001
"""Of processor time, usually: to wake a thread for it, and the event loop again, costs half of it."""
WAITS_S: Final = 0.01
"""Of wall time, and none of the last few took less. A thread that computes in Python keeps another from going on for
half as long (`sys.getswitchinterval`), so that alone is no sign of waiting."""
LONG_S: Final = 0.05
"""Of wall time: one prediction that held up the event loop for so long is enough."""
LEARNING: Final = 0.2
FEW: Final = 5
TRIAL: Final = 16
"""So many predictions in a row, none of them long, bring a model back that held up the event loop."""


class PredictionPace:
    """One model's. Measured by several threads at once it may miss one of their predictions, which does no harm."""

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
        """It kept everybody waiting: what is known of it counts no more."""
        self.cheap = False
        self._usual_s = inf
        self._last_s = ()
        self._on_trial = TRIAL
