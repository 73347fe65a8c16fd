"""How often a group is called lately: so many calls a load of one of its models would serve."""

from dataclasses import dataclass
from math import exp
from typing import Final

WINDOW_S: Final = 60.0
"""Calls count less the longer ago they came: one of a window ago counts 1/e."""


@dataclass
class CallRate:
    """The weighted number of calls of about the last WINDOW_S seconds."""

    calls: float = 0.0
    last_s: float = 0.0

    def called(self, now_s: float) -> float:
        """Count one more call. Returns how many calls a minute brings, that one among them: at least 1."""
        self.calls = self.calls * exp(-max(0.0, now_s - self.last_s) / WINDOW_S) + 1.0
        self.last_s = now_s
        return self.calls
