"""What a look at a process shows: its processor time, that of those below it, and whether it wants any."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.helpers.processes import stop
from tests.helpers.waiting import until
from torpor_container.core.work_wait import WorkLook
from torpor_container.waiting.process_work import looked_at

COMPUTES = "any(iter(int, 1))"
SLEEPS = "__import__('time').sleep(600)"
HAS_ONE_THAT_COMPUTES = f"__import__('subprocess').run([__import__('sys').executable, '-c', {COMPUTES!r}])"
HAD_ONE_THAT_COMPUTED = (
    "import os, resource, subprocess, sys, time; subprocess.run([sys.executable, '-c',"
    " 'import time; [0 for _ in iter(lambda: time.process_time() < 0.5, False)]']); time.sleep(600)"
)


@contextmanager
def running(code: str) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True) as process:
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, 9)


def one_that(pid: int, resting: bool, all_cpu_s: float = 0.0) -> WorkLook:
    """The first look that shows this."""

    def look() -> list[WorkLook]:
        found = looked_at(pid)
        return [found] if found.resting is resting and found.all_cpu_s >= all_cpu_s else []

    return until(look, within_s=60.0)[0]


def test_a_process_that_computes_uses_processor_time_and_does_not_rest() -> None:
    with running(COMPUTES) as pid:
        look = one_that(pid, resting=False, all_cpu_s=0.2)
        assert look.cpu_s == look.all_cpu_s


def test_a_process_that_sleeps_rests() -> None:
    with running(SLEEPS) as pid:
        one_that(pid, resting=True)


def test_a_process_that_was_stopped_does_not_rest() -> None:
    with running(SLEEPS) as pid:
        one_that(pid, resting=True)
        stop(pid)
        assert not looked_at(pid).resting


def test_a_process_does_not_rest_while_one_that_it_started_computes_and_that_time_counts_apart() -> None:
    with running(HAS_ONE_THAT_COMPUTES) as pid:
        look = one_that(pid, resting=False, all_cpu_s=0.5)
        assert look.all_cpu_s - look.cpu_s > 0.1


def test_the_time_of_processes_that_have_ended_still_counts_apart() -> None:
    with running(HAD_ONE_THAT_COMPUTED) as pid:
        look = one_that(pid, resting=True, all_cpu_s=0.4)
        assert look.all_cpu_s - look.cpu_s >= 0.3


def test_a_process_that_is_gone_shows_nothing() -> None:
    with running(SLEEPS) as pid:
        pass
    look = looked_at(pid)
    assert (look.cpu_s, look.all_cpu_s, look.resting) == (0.0, 0.0, False)
