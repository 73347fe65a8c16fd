"""Tells of a process, at each signal, how long its event loop was held up since the last one, and what it holds.

Python imports this module at its start, from the PYTHONPATH that `loop_watch` gives. `LOOP_WATCHED` names a file that
gets a line for each signal: the most processor time of one callback in milliseconds, and the memory blocks in use. The
process runs asyncio's own event loop: uvloop has no place to measure at.
"""

import asyncio
import gc
import os
import signal
import sys
import time
from types import FrameType

WATCHED = os.environ.get("LOOP_WATCHED", "")
longest_s = 0.0
ordinary = asyncio.Handle._run


def run(handle: asyncio.Handle) -> None:
    global longest_s
    began_s = time.thread_time()
    ordinary(handle)
    longest_s = max(longest_s, time.thread_time() - began_s)


def tell(number: int, frame: FrameType | None) -> None:
    global longest_s
    longest_ms, longest_s = 1000 * longest_s, 0.0
    gc.collect()
    with open(WATCHED, "a") as file:
        file.write(f"{longest_ms} {sys.getallocatedblocks()}\n")


if WATCHED:
    sys.modules["uvloop"] = None  # type: ignore[assignment]
    setattr(asyncio.Handle, "_run", run)  # noqa: B010 - mypy has its argument twice
    signal.signal(signal.SIGRTMIN, tell)
