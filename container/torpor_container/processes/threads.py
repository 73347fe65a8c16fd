"""Runs work on threads: foreign code that may never return, and work that a cancelled caller must not abandon.

A thread that does not return is given up as lost, and a new one takes its place. The threads are Torpor's own: a piece
of work goes to one and its result comes back to the event loop in a fourth of the calls that asyncio's executor makes.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

from torpor_container.errors import NoMemoryNow

T = TypeVar("T")

SHARED_MAX = 8
"""The most threads that all work without threads of its own shares. The limit on an instance's memory counts the stack
of each thread, and leaves room for about sixteen (`memory.STACKS_BYTES`)."""


class _Work:
    """One piece of work, from the event loop to a thread and back."""

    __slots__ = ("arguments", "begun", "call", "ended", "given_up", "loop", "over", "result")

    def __init__(
        self, call: Callable[..., Any], arguments: tuple[object, ...], ended: Callable[["_Work"], None]
    ) -> None:
        self.call, self.arguments, self.ended = call, arguments, ended
        self.loop = asyncio.get_running_loop()
        self.over: asyncio.Future[Any] = self.loop.create_future()
        self.begun = self.given_up = False
        self.result: Any = None

    def do(self) -> None:
        """On a thread: do the work, unless its caller was cancelled before it began."""
        self.begun = True
        with self:
            if not self.over.cancelled():
                self.result = self.call(*self.arguments)

    def __enter__(self) -> None:
        """What its work returns, or raises, goes to the event loop at the end of the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Whatever the work raises is its caller's."""
        result, self.result = self.result, None
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(self._tell, result, error)
        return True

    def _tell(self, result: object, error: BaseException | None) -> None:
        """On the event loop."""
        self.ended(self)
        if self.over.done():
            return
        if error is None:
            self.over.set_result(result)
        elif isinstance(error, StopIteration):  # no future can hold it
            self.over.set_exception(RuntimeError(f"the work raised {error!r}"))
        else:
            self.over.set_exception(error)


class _Workers:
    """Up to `size` threads that do what is put to them, in order. Each starts when all others are busy and there is
    memory for its stack; else those that run do the work."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._threads = self._unfinished = 0

    def put(self, call: Callable[..., Any], arguments: tuple[object, ...]) -> _Work:
        """Raises NoMemoryNow if no thread runs, and none can start."""
        if self._threads <= self._unfinished and self._threads < self._size:
            self._start_one()
        work = _Work(call, arguments, self._ended)
        self._unfinished += 1
        self._queue.put(work)
        return work

    def give_up(self, work: _Work) -> None:
        """Count no more on the thread that does this: it ends after it, and another may start."""
        work.given_up = True
        self._threads -= 1
        self._unfinished -= 1

    def close(self) -> None:
        """End the threads once they are free, and cancel what has not begun."""
        with suppress(Empty):
            while (work := self._queue.get_nowait()) is not None:
                work.over.cancel()
        for _ in range(self._threads):
            self._queue.put(None)

    def _start_one(self) -> None:
        try:
            threading.Thread(target=_serve, args=(self._queue,), name=self._name, daemon=True).start()
        except (RuntimeError, MemoryError) as error:
            if not self._threads:
                raise NoMemoryNow(f"there is no memory for a thread: {error}") from error
        else:
            self._threads += 1

    def _ended(self, work: _Work) -> None:
        if not work.given_up:
            self._unfinished -= 1


def _serve(queue: "SimpleQueue[_Work | None]") -> None:
    while (work := queue.get()) is not None:
        work.do()
        given_up = work.given_up
        del work  # its result, which may be large, is its caller's alone
        if given_up:
            return


class Threads:
    """A pool of `size` threads. A caller that is cancelled while its work runs leaves a lost thread behind."""

    def __init__(self, size: int, name: str) -> None:
        self._lost: set[_Work] = set()
        self._workers = _Workers(size, name)
        self._free = asyncio.Semaphore(size)  # callers wait here, not in the pool

    @property
    def lost(self) -> int:
        """How many threads still run work that no caller waits for."""
        return len(self._lost)

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Run work on a thread, once one is free. Work that has begun runs on as lost when its caller is cancelled."""
        async with self._free:
            given = self._workers.put(work, arguments)
            try:
                result: T = await given.over
            except asyncio.CancelledError:
                if given.begun:
                    self._give_up(given)
                raise
            return result

    def close(self) -> None:
        self._workers.close()

    def _give_up(self, work: _Work) -> None:
        self._workers.give_up(work)
        self._lost.add(work)
        work.ended = self._lost.discard


_shared = _Workers(SHARED_MAX, "work")


async def on_thread(work: Callable[..., T], *arguments: object) -> T:
    """Run work on a thread. A cancelled caller abandons it."""
    result: T = await _shared.put(work, arguments).over
    return result


async def run_to_completion(work: Callable[..., T], *arguments: object) -> T:
    """Run work on a thread. A cancelled caller still waits for it, since the thread goes on and may write files."""
    over = _shared.put(work, arguments).over
    try:
        result: T = await asyncio.shield(over)
        return result
    finally:
        while not over.done():  # however often it is cancelled
            with suppress(asyncio.CancelledError):
                await asyncio.wait([over])
