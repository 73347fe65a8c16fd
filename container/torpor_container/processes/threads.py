"""Runs work on threads: foreign code that may never return, and work that a cancelled caller must not abandon.

A thread that does not return is given up as lost, and a new one takes its place.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    """A pool of `size` threads. A caller that is cancelled while its work runs leaves a lost thread behind."""

    def __init__(self, size: int, name: str) -> None:
        self._lost: set[Future[Any]] = set()
        self._size = size
        self._name = name
        self._pool = self._new_pool()
        self._free = asyncio.Semaphore(size)  # callers wait here, not in the pool

    @property
    def lost(self) -> int:
        """How many threads still run work that no caller waits for."""
        return len(self._lost)

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Run work on a thread, once one is free. Work that has begun runs on as lost when its caller is cancelled."""
        async with self._free:
            future = self._pool.submit(work, *arguments)
            try:
                return await asyncio.wrap_future(future)
            except asyncio.CancelledError:
                if future.running():
                    self._give_up(future)
                raise

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _new_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max_workers=self._size, thread_name_prefix=self._name)

    def _give_up(self, future: "Future[Any]") -> None:
        self._lost.add(future)
        future.add_done_callback(self._lost.discard)  # called on the lost thread: safe for a set, not for a count
        self._pool.shutdown(wait=False)  # its other threads finish their work
        self._pool = self._new_pool()


async def run_to_completion(work: Callable[..., T], *arguments: object) -> T:
    """Run work on a thread. A cancelled caller still waits for it, since the thread goes on and may write files."""
    thread = asyncio.get_running_loop().run_in_executor(None, work, *arguments)
    try:
        return await asyncio.shield(thread)
    finally:
        if not thread.done():
            await asyncio.wait([thread])
