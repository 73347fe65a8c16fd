"""Answers for a filter that asks: whether another process or thread may start.

Source: seccomp_unotify(2). A process stands still in its call until the answer is sent.
"""

import errno
import fcntl
import struct
import time
from collections.abc import Callable
from contextlib import suppress

RECEIVE, SEND = 0xC0502100, 0xC0182101
"""SECCOMP_IOCTL_NOTIF_RECV and SECCOMP_IOCTL_NOTIF_SEND."""
QUESTION_BYTES = 80
ANSWER = struct.Struct("=QqiI")
GO_ON = 1
"""SECCOMP_USER_NOTIF_FLAG_CONTINUE"""

REFUSED_FOR_S = 0.05
"""After a refusal, tasks are not counted for this long: a script that tries again and again would keep the guardian
busy."""
PAUSE_S = 0.005
"""How long a refused call takes at least."""


class ForkLimit:
    """Answers what comes from `listener`. `tasks` counts the processes and threads that there are: only when as many as
    are allowed may have been started since the last count."""

    def __init__(
        self,
        listener: int,
        tasks: Callable[[], int],
        most: int,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
        ioctl: Callable[[int, int, bytearray | bytes], object] = fcntl.ioctl,
    ) -> None:
        self._listener = listener
        self._tasks = tasks
        self._most = most
        self._clock = clock
        self._pause = pause
        self._ioctl = ioctl
        self._room = 0
        self._full_until_s = 0.0

    def answer(self) -> None:
        """Answer one question. The process that asked may be gone by now."""
        asked = bytearray(QUESTION_BYTES)
        with suppress(OSError):  # it was killed before, or after, its question was read
            self._ioctl(self._listener, RECEIVE, asked)
            (number,) = struct.unpack_from("=Q", asked)
            refused = self.is_full()
            answer = (number, 0, -errno.EAGAIN, 0) if refused else (number, 0, 0, GO_ON)
            self._ioctl(self._listener, SEND, ANSWER.pack(*answer))

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
        """How many tasks there are. Where they cannot be counted there is no room: each question needs an answer."""
        try:
            return self._tasks()
        except OSError:
            return self._most
