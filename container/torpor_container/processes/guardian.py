"""A guardian stands between the zygote and a child, and ends all that the child started when the child ends.

    zygote ──► guardian ──► child ──► what it starts, and what that starts

The kernel hands it the orphans below it, whatever their sessions (Linux). Once the child has ended, by itself or
because SIGTERM asked the guardian to end it, the guardian kills and reaps what is left, and exits as the child did.
So its own end, which the zygote reports, is the end of all of them. It also reaps orphans while the child lives, and
lets tasks go on that stopped, if its watch traces them.
"""

import os
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn, Protocol

from torpor_container.processes.process_tree import adopt_orphans, end_with_parent, kill_descendants, kill_group

SIGNALS = (signal.SIGTERM, signal.SIGCHLD)
ALL_TASKS = 0x40000000 if sys.platform.startswith("linux") else 0
"""__WALL of `waitpid`: threads that are traced too."""


class GuardianWatch(Protocol):
    """Watches the child on a thread of the guardian, and may kill it."""

    verdict: int | None
    """The exit code in place of the child's own."""

    def begin(self, child: int, line: socket.socket) -> None:
        """Watch it from now on. What is written to this end of the line the child can read from its own."""

    def end(self) -> None:
        """Kill nothing any more: the child was waited for."""

    def stopped(self, task: int, status: int) -> None:
        """Let a traced process or thread go on. This is called on the thread that called `begin`."""


def guarded(descriptors: Sequence[int], watch: GuardianWatch | None = None) -> socket.socket:
    """Fork: the child returns and goes on; this process becomes its guardian and closes the descriptors.

    Returns the child's end of a line to the watch.
    """
    ours, theirs = socket.socketpair()
    adopt_orphans()
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # if it were ignored, `sigwait` might miss it
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    guardian, child = os.getpid(), os.fork()
    if child:
        theirs.close()
        _guard(child, descriptors, watch, ours)
    ours.close()
    end_with_parent()
    if os.getppid() != guardian:
        os._exit(1)  # the guardian ended in between
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    return theirs


def _guard(child: int, descriptors: Sequence[int], watch: GuardianWatch | None, line: socket.socket) -> NoReturn:
    end_with_parent(signal.SIGTERM)
    for descriptor in descriptors:
        os.close(descriptor)
    if watch is not None:
        watch.begin(child, line)
    code = _wait_for(child, watch)
    if watch is not None:
        watch.end()
        code = code if watch.verdict is None else watch.verdict
    kill_group(child)  # on systems that hand over no orphans
    kill_descendants()
    _exit_like(code)


def _wait_for(child: int, watch: GuardianWatch | None) -> int:
    """Wait for the child, and reap orphans meanwhile; kill the child after SIGTERM. Its exit code.

    Tasks may stop without a pause: SIGTERM, and the child's own end, come before them. Once the child is to end, no
    task goes on.
    """
    ending = False
    while True:
        if signal.sigwait(SIGNALS) == signal.SIGTERM:
            ending = True
            os.kill(child, signal.SIGKILL)
        while signal.SIGTERM not in signal.sigpending():
            pid, status = _changed(child)
            if not pid:
                break
            if not os.WIFSTOPPED(status):
                if pid == child:
                    return os.waitstatus_to_exitcode(status)
            elif watch is not None and watch.verdict is None and not ending:
                watch.stopped(pid, status)


def _changed(child: int) -> tuple[int, int]:
    """A process that ended, or a traced task that stopped, with its status; 0 for none. The child comes first."""
    for asked in (child, -1):
        pid, status = os.waitpid(asked, os.WNOHANG | ALL_TASKS)
        if pid:
            return pid, status
    return 0, 0


def _exit_like(code: int) -> NoReturn:
    """Exit with the same code, or by the same signal."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):  # SIGKILL has no handler to set
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (-code,))
        os.kill(os.getpid(), -code)
    os._exit(code)
