"""Processor seconds of processes that come and go: none is lost, none is counted twice, and the sum never decreases."""

import os
import subprocess
import sys

import pytest

from torpor_container.measuring.cpu_time import CpuTime
from torpor_container.processes.process_tree import cpu_s


class Clocks:
    """The seconds that each process has used."""

    def __init__(self) -> None:
        self.used_s: dict[int, float] = {}
        self.spent = CpuTime(lambda pid: self.used_s.get(pid, 0.0))
        self.own_s = self.spent.seconds([])

    def seconds(self, *groups: list[int]) -> float:
        """The seconds of the other processes alone, to a tenth of a second."""
        return round(self.spent.seconds(groups) - self.own_s, 1)


def test_groups_add_up_and_those_that_are_gone_stay_counted() -> None:
    clocks = Clocks()
    clocks.used_s = {1: 5.0, 2: 7.0, 3: 11.0}
    assert clocks.seconds([1], [2, 3]) == 23.0
    clocks.used_s[1] = 6.0
    assert clocks.seconds([1]) == 24.0
    assert clocks.seconds() == 24.0
    assert clocks.seconds() == 24.0


def test_a_process_that_ends_within_a_group_takes_no_seconds_away() -> None:
    """The process that waits for it takes over its seconds, or no process does."""
    clocks = Clocks()
    clocks.used_s = {1: 1.0, 2: 5.0}
    assert clocks.seconds([1, 2]) == 6.0
    assert clocks.seconds([1]) == 6.0
    clocks.used_s[1] = 6.5
    assert clocks.seconds([1]) == 6.5


def test_the_work_of_other_workers_counts_when_one_has_died() -> None:
    """Each worker of a script is a group of its own: the death of one hides nothing of what the others do."""
    clocks = Clocks()
    clocks.used_s = {1: 4.0, 2: 6.0}
    assert clocks.seconds([1], [2]) == 10.0
    clocks.used_s = {2: 7.5}  # nothing can be read of the first any more
    assert clocks.seconds([1], [2]) == 11.5
    clocks.used_s = {}
    assert clocks.seconds([1], [2]) == 11.5


def test_the_time_of_a_process_includes_its_ended_children() -> None:
    burn = "import time; until = time.process_time() + 0.2\nwhile time.process_time() < until: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        assert cpu_s(process.pid) > 0.15
        process.stdin.close()
    assert cpu_s(process.pid) == 0.0


def test_the_time_of_this_process_counts_without_others() -> None:
    times = os.times()
    assert CpuTime().seconds([]) == pytest.approx(
        times.user + times.system + times.children_user + times.children_system, abs=1.0
    )
