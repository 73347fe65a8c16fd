"""A guardian stands between the zygote and a child, and sees to it that all the child started ends with it.

    zygote ──► guardian ──► child ──► what it starts, and what that starts

The kernel hands it the orphans below it, whatever their sessions (Linux). So once the child has ended, by itself or
because the guardian was told by SIGTERM to end it, the guardian kills and buries who is left, and leaves as the child
did. Its own end, which the zygote reports, is the end of all of them; and it reaps what a child never waits for.
"""

import os
import resource
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from torpor_container.processes.process_tree import adopt_orphans, end_with_parent, kill_descendants, kill_group

HEARD = (signal.SIGTERM, signal.SIGCHLD)


def guarded(descriptors: Sequence[int]) -> None:
    """Go on in a child of this process, which stays behind as its guardian and lets go of the descriptors."""
    adopt_orphans()
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # what is ignored need not be kept for who waits for it
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    guardian, child = os.getpid(), os.fork()
    if child:
        _guard(child, descriptors)
    end_with_parent()
    if os.getppid() != guardian:
        os._exit(1)  # it ended in between
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)


def _guard(child: int, descriptors: Sequence[int]) -> NoReturn:
    end_with_parent(signal.SIGTERM)
    for descriptor in descriptors:
        os.close(descriptor)
    code = _end_of(child)
    kill_group(child)  # where the system hands over no orphans
    kill_descendants()
    _leave(code)


def _end_of(child: int) -> int:
    """Wait for it, and meanwhile for whoever else has ended; kill it once told to. Its exit code."""
    while True:
        told = signal.sigwait(HEARD)
        if told == signal.SIGTERM:
            os.kill(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        pid = -1
        while pid:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return os.waitstatus_to_exitcode(status)


def _leave(code: int) -> NoReturn:
    """Also by the same signal."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):  # SIGKILL needs no leave
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (-code,))
        os.kill(os.getpid(), -code)
    os._exit(code)
