"""The memory of a process, measured between two walks over its pages."""

import gc
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from torpor_container.measuring.memory_gauge import WALKED_FOR_S, MemoryGauge, OtherProcesses
from torpor_container.processes.memory import allocated_bytes, give_back

MIB = 1024 * 1024
OTHERS_BYTES = MIB // 4
"""What the rest of this process may take or give back meanwhile."""


def taken(size_bytes: int) -> mmap.mmap:
    held = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    touched(held)
    return held


def touched(held: mmap.mmap) -> None:
    """Every page is written to, and nothing else is taken for it."""
    for page in range(0, len(held), mmap.PAGESIZE):
        held[page] = (held[page] + 1) % 256


@pytest.mark.parametrize("exact", [None, False], ids=["as the kernel counts", "walked each time"])
def test_memory_taken_and_given_back_shows_at_once(exact: bool | None) -> None:
    gauge = MemoryGauge(lambda: 0.0, exact)
    give_back()
    before = gauge.used_bytes()
    grown = gauge.grown()
    held = taken(MIB)
    assert gauge.used_bytes() - before == pytest.approx(MIB, abs=OTHERS_BYTES)
    assert grown() == pytest.approx(MIB, abs=OTHERS_BYTES)
    held.close()
    assert gauge.used_bytes() == pytest.approx(before, abs=OTHERS_BYTES)
    assert grown() == pytest.approx(0, abs=OTHERS_BYTES)


def test_a_walk_is_due_at_first_and_once_a_second() -> None:
    now_s = 0.0
    gauge = MemoryGauge(lambda: now_s, exact=True)
    assert gauge.counted_bytes() is None
    walked_bytes = gauge.used_bytes()
    now_s = 0.9
    assert gauge.counted_bytes() == pytest.approx(walked_bytes, abs=OTHERS_BYTES)
    now_s = 1.0
    assert gauge.counted_bytes() is None
    assert MemoryGauge(lambda: now_s, exact=False).counted_bytes() is None


@pytest.mark.skipif(not allocated_bytes(), reason="the C library does not tell what malloc holds")
def test_objects_in_memory_that_others_left_free_count_too() -> None:
    left = [bytes(size) for size in [20_000] * 200]
    pinned = bytes(20_000)  # above them on the heap: what they leave is not given back
    left.clear()
    grown = MemoryGauge(lambda: 0.0).grown()
    filled = [bytes(size) for size in [20_000] * 200]
    assert grown() == pytest.approx(4_000_000, abs=OTHERS_BYTES)
    assert len(filled) == 200
    assert len(pinned) == 20_000


@pytest.mark.skipif(not allocated_bytes(), reason="the C library does not tell what malloc holds")
def test_memory_freed_on_the_way_does_not_count() -> None:
    give_back()
    grown, by_malloc = MemoryGauge(lambda: 0.0).grown(), MemoryGauge(lambda: 0.0).grown(by_malloc=True)
    on_the_way = [bytes(size) for size in [20_000] * 400]
    kept = [bytes(size) for size in [20_000] * 100]
    on_the_way.clear()
    assert by_malloc() == pytest.approx(2_000_000, abs=OTHERS_BYTES)
    assert grown() == pytest.approx(2_000_000, abs=OTHERS_BYTES)
    assert len(kept) == 100


def test_memory_that_python_keeps_outside_of_malloc_counts_too() -> None:
    """Runs in a process of its own: memory freed in this one leaves Python room for small objects."""
    asked = (
        "from torpor_container.measuring.memory_gauge import MemoryGauge\n"
        "grown = MemoryGauge(lambda: 0.0).grown()\n"
        "kept = [float(number) for number in range(200_000)]\n"
        "print(grown())"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, timeout=60)
    assert int(told.stdout) >= 200_000 * 24 - OTHERS_BYTES


def test_pages_that_a_forked_process_makes_its_own_show_after_a_while() -> None:
    inherited = taken(8 * MIB)

    def grown_by_writing() -> int:
        now_s = 0.0
        gauge = MemoryGauge(lambda: now_s)
        before = gauge.used_bytes()
        touched(inherited)
        now_s = WALKED_FOR_S
        return gauge.used_bytes() - before

    assert in_a_fork(grown_by_writing) == pytest.approx(8 * MIB, abs=MIB)


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[tuple[int, Callable[[], None]]]:
    """Another process, and a function that makes it act, keep the result, and stop. It shares all that it inherits."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(read, 1)
        kept = work()
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(kept is None)

    def told() -> None:
        os.write(write, b"!")
        os.waitpid(pid, os.WUNTRACED)

    try:
        gc.disable()  # looking for garbage writes to every object, whose page is then no longer shared
        yield pid, told
    finally:
        gc.enable()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(read)
        os.close(write)


THEIRS_BYTES = 64 * MIB
"""Large beside the pages that another process shares no more as soon as this one, which may be a large one, writes to
its own: some hundred."""


@pytest.mark.parametrize("exact", [None, False], ids=["as the kernel counts", "walked each time"])
def test_memory_of_another_process_shows_at_once_and_not_after_its_end(exact: bool | None) -> None:
    others = OtherProcesses(lambda: 0.0, exact)
    with forked(lambda: taken(THEIRS_BYTES)) as (pid, told):
        before = others.used_bytes([pid])
        told()
        assert others.used_bytes([pid]) - before == pytest.approx(THEIRS_BYTES, abs=THEIRS_BYTES / 8)
    assert others.used_bytes([pid]) == 0


def test_others_are_walked_once_a_second() -> None:
    """Pages that another process makes its own show with its next walk, as one's own do."""
    inherited, now_s = taken(THEIRS_BYTES), 0.0
    others = OtherProcesses(lambda: now_s, exact=True)
    with forked(lambda: touched(inherited)) as (pid, told):
        before = others.used_bytes([pid])
        told()
        assert others.used_bytes([pid]) - before < THEIRS_BYTES / 8
        now_s = WALKED_FOR_S
        assert others.used_bytes([pid]) - before == pytest.approx(THEIRS_BYTES, abs=THEIRS_BYTES / 8)


def in_a_fork(question: Callable[[], int]) -> int:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, str(question()).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with open(read, "rb") as answer:
        return int(answer.read())
