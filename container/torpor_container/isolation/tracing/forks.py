"""Decides whether another process or thread of a script may start."""

import time
from collections.abc import Callable

REFUSED_FOR_S = 0.05
"""After a refusal, tasks are not counted for this long: a script that tries again and again would keep the guardian
busy."""
PAUSE_S = 0.005
"""How long a refused call takes at least."""


class ForkLimit:
    """`tasks` counts the processes and threads that there are: only when as many as are allowed may have been started
    since the last count."""

    def __init__(
        self,
        tasks: Callable[[], int],
        most: int,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._tasks = tasks
        self._most = most
        self._clock = clock
        self._pause = pause
        self._room = 0
        self._full_until_s = 0.0

    def is_full(self) -> bool:
        """Whether no other task may start now. If one may, it counts as started."""
        if not self._room and self._clock() >= self._full_until_s:
            self._room = max(0, self._most - self._counted())
            self._full_until_s = self._clock() + REFUSED_FOR_S
        if self._room:
            self._room -= 1
            return False
        self._pause(PAUSE_S)
        return True

    def _counted(self) -> int:
        """How many tasks there are. Where they cannot be counted there is no room."""
        try:
            return self._tasks()
        except OSError:
            return self._most
