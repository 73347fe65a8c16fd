"""How the work of a job waits, is stopped and fails."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, ParamSpec, TypeVar

from torpor_account.core.outages.waiting import pause_s
from torpor_account.storage.failures import is_machines
from torpor_account.storage.outage_log import OutageLog

P = ParamSpec("P")
T = TypeVar("T")


class Stopped(Exception):
    """The job was stopped before it had anything to keep."""


class Failed(Exception):
    """The job failed. The text is its FailureReason."""


def client_error(text: object) -> str:
    """A FailureReason, in AWS's words: the job's input is at fault."""
    return f"ClientError: {text}"


def internal_error(text: object) -> str:
    """A FailureReason, in AWS's words: the endpoint is at fault."""
    return f"InternalServerError: {text}"


async def finished(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the function in a worker thread. A cancelled caller still waits for its end."""
    return await _whole(asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs)))


class WorkThreads:
    """A few threads for work of one kind, so that much of it keeps no other work of the endpoint waiting."""

    def __init__(self, name: str, count: int) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=name)

    async def finished(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the function in one of the threads. A cancelled caller still waits for its end."""
        loop = asyncio.get_running_loop()
        return await _whole(loop.run_in_executor(self._threads, partial(function, *args, **kwargs)))


async def outlasting(outage: OutageLog, work: Callable[[], Awaitable[T]]) -> T:
    """Do it, and again after each failure of the machine, until it is done: for work that may be done twice. Raises
    what is not the machine's."""
    for tried in count(1):
        try:
            done = await work()
        except Exception as error:  # the machine's failures have no class in common: `is_machines` knows them
            if not is_machines(error):
                raise
            outage.began(error)
            await asyncio.sleep(pause_s(tried))
        else:
            outage.ended()
            return done
    raise AssertionError("it has no end")


async def _whole(work: "asyncio.Future[T]") -> T:
    try:
        return await asyncio.shield(work)
    finally:
        while not work.done():  # however often it is cancelled
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])


async def unless(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """The work's result. Cancels the work and raises Stopped as soon as `stop` is set."""
    working, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Stopped
        return working.result()
    finally:
        working.cancel()
        stopped.cancel()
        await asyncio.gather(working, stopped, return_exceptions=True)
