"""What a piece of work allocates at most, in a process where other threads allocate too."""

import tracemalloc
from collections.abc import Callable

TRIES = 3


def peak_bytes(work: Callable[[], object]) -> int:
    """The least of three peaks: a thread that an earlier test has left running can only add to one of them."""
    return min(_peak_bytes(work) for _ in range(TRIES))


def _peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
