"""A guardian stands between the zygote and a child, and ends all that the child started when the child ends.

    zygote ──► guardian ──► child ──► what it starts, and what that starts

The kernel hands it the orphans below it, whatever their sessions (Linux). Once the child has ended, by itself or
because SIGTERM asked the guardian to end it, the guardian kills and reaps what is left, and exits as the child did.
So its own end, which the zygote reports, is the end of all of them. It also reaps orphans while the child lives.
"""

import os
import resource
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from torpor_container.processes.process_tree import adopt_orphans, end_with_parent, kill_descendants, kill_group

SIGNALS = (signal.SIGTERM, signal.SIGCHLD)


def guarded(descriptors: Sequence[int]) -> None:
    """Fork: the child returns and goes on; this process becomes its guardian and closes the descriptors."""
    adopt_orphans()
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # if it were ignored, `sigwait` might miss it
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    guardian, child = os.getpid(), os.fork()
    if child:
        _guard(child, descriptors)
    end_with_parent()
    if os.getppid() != guardian:
        os._exit(1)  # the guardian ended in between
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _guard(child: int, descriptors: Sequence[int]) -> NoReturn:
    end_with_parent(signal.SIGTERM)
    for descriptor in descriptors:
        os.close(descriptor)
    code = _wait_for(child)
    kill_group(child)  # on systems that hand over no orphans
    kill_descendants()
    _exit_like(code)


def _wait_for(child: int) -> int:
    """Wait for the child, and reap orphans meanwhile; kill the child after SIGTERM. Its exit code."""
    while True:
        received = signal.sigwait(SIGNALS)
        if received == signal.SIGTERM:
            os.kill(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        pid = -1
        while pid:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return os.waitstatus_to_exitcode(status)


def _exit_like(code: int) -> NoReturn:
    """Exit with the same code, or by the same signal."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):  # SIGKILL has no handler to set
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (-code,))
        os.kill(os.getpid(), -code)
    os._exit(code)
