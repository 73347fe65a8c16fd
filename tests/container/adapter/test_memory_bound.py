"""The memory of a foreign container's processes together."""

import asyncio
import os
import signal
from contextlib import suppress

import pytest

from torpor_container.adapter.memory_bound import MIB, until_exceeded
from torpor_container.processes.memory import anonymous_bytes

SHARED = 64 * MIB
WORKERS = 3


def test_pages_that_forked_workers_share_count_once() -> None:
    pages = bytearray(SHARED)
    pages[::4096] = b"x" * len(pages[::4096])
    workers = [pid for _ in range(WORKERS) if (pid := _forked())]
    processes = [os.getpid(), *workers]

    async def ended(most_bytes: int) -> None:
        """Raises IndexError if three looks find no more than that."""
        looks = [processes] * 3
        await until_exceeded(most_bytes, lambda: looks.pop(), look_s=0.0)

    own = anonymous_bytes()
    try:
        assert sum(map(anonymous_bytes, processes)) > own + 2 * SHARED
        with pytest.raises(IndexError):
            asyncio.run(ended(own + SHARED))
        asyncio.run(ended(own - SHARED // 2))
    finally:
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
    assert len(pages) == SHARED


def _forked() -> int:
    if (pid := os.fork()) == 0:
        signal.pause()
        os._exit(0)
    return pid
