"""Threads for foreign code that may never come back: a lost one is given up, and its place in the pool taken anew."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    """A pool of `size` threads. A caller who is cancelled while his work runs leaves a lost thread behind."""

    def __init__(self, size: int, name: str) -> None:
        self._lost: set[Future[Any]] = set()
        self._size = size
        self._name = name
        self._pool = self._made()
        self._free = asyncio.Semaphore(size)  # the line is here: in a pool that is given up, nobody waits

    @property
    def lost(self) -> int:
        """How many still run what nobody waits for any more."""
        return len(self._lost)

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Do it on a thread, once one is free. Work that has begun cannot be stopped: cancelled, it runs on as lost."""
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

    def _made(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max_workers=self._size, thread_name_prefix=self._name)

    def _give_up(self, future: "Future[Any]") -> None:
        self._lost.add(future)
        future.add_done_callback(self._lost.discard)  # on its own thread: sets take that, counts do not
        self._pool.shutdown(wait=False)  # the threads that are left there end what they do
        self._pool = self._made()
