"""The time that work took, in three parts: on a processor, in line for one, and waiting."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torpor_container.measuring.effort import CLOCKS, SCHEDSTAT, Effort, EffortClocks, in_line_s, measured, process_s


def computing(cpu_s: float) -> None:
    until_s = time.thread_time() + cpu_s
    while time.thread_time() < until_s:
        pass


def test_sleeping_is_a_delay_and_computing_is_work() -> None:
    _, slept = measured(time.sleep, 0.05)
    _, computed = measured(computing, 0.02)
    assert slept.fields()["work_s"] < 0.01
    assert slept.fields()["delay_s"] >= 0.045
    assert 0.02 <= computed.fields()["work_s"] < 0.03
    assert computed.fields()["delay_s"] < 0.02 + computed.in_line_s


@pytest.mark.skipif(not Path(SCHEDSTAT).exists(), reason="the system does not tell who stands in line")
def test_waiting_for_a_processor_that_others_are_busy_on_is_neither() -> None:
    here = os.sched_getaffinity(0)
    one = {min(here)}
    busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(2)]
    try:
        for process in busy:
            os.sched_setaffinity(process.pid, one)
        os.sched_setaffinity(0, one)
        _, effort = measured(computing, 0.1)
    finally:
        os.sched_setaffinity(0, here)
        for process in busy:
            process.kill()
            process.wait()
    assert effort.wall_s > 0.15
    assert effort.in_line_s > 0.05
    assert effort.fields()["work_s"] == pytest.approx(0.1, rel=0.1)
    assert effort.fields()["delay_s"] < 0.03


@pytest.mark.skipif(not Path(SCHEDSTAT).exists(), reason="the system does not tell who stands in line")
def test_a_forked_process_counts_its_own_time_in_line() -> None:
    in_line_s()  # the file is open
    reading, writing = os.pipe()
    if not (child := os.fork()):
        told, own = in_line_s(), int(Path(SCHEDSTAT).read_text().split()[1]) * 1e-9
        os.write(writing, b"well" if told <= own else b"%f of %f" % (told, own))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 100) == b"well"
    for file in (reading, writing):
        os.close(file)


def test_work_on_several_processors_counts_as_work_on_one() -> None:
    assert Effort(wall_s=1.0, work_s=3.2).fields() == {"work_s": 1.0, "delay_s": 0.0}
    assert Effort(wall_s=1.0, work_s=0.9, in_line_s=0.4).fields() == {"work_s": 0.6, "delay_s": 0.0}


def test_efforts_add_up_and_are_shared() -> None:
    assert Effort(3.0, 2.0, 1.0) + Effort(1.0, 1.0) == Effort(4.0, 3.0, 1.0)
    assert Effort(3.0, 2.0, 1.0).shared(2) == Effort(1.5, 1.0, 0.5)


def test_work_of_a_child_process_counts_as_the_parents() -> None:
    effort = EffortClocks(work=process_s).start()
    subprocess.run([sys.executable, "-S", "-c", "sum(range(2_000_000))"], check=True)
    assert effort().work_s > 0.01
    assert CLOCKS.start()().work_s < 0.01
