"""The clock of an instance's dates and idle times, which may be moved ahead. Durations are measured without it."""

from collections.abc import Callable


class Calendar:
    """`steady` gives seconds that only go forward; the calendar shows them `ahead_s` later."""

    def __init__(self, steady: Callable[[], float], ahead_s: float) -> None:
        self._steady = steady
        self._ahead_s = ahead_s

    def __call__(self) -> float:
        return self._steady() + self._ahead_s

    def move(self, ahead_s: float) -> None:
        """Be so many seconds ahead. A calendar never goes back."""
        self._ahead_s = max(self._ahead_s, ahead_s)
