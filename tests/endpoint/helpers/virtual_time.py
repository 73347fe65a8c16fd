"""An event loop whose time leaps to the next timer, so that a wait of half a minute takes no time.

Sockets within this process work as ever. Threads do not: the loop does not wait for them.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class NothingWillHappen(AssertionError):
    """All tasks wait, and none for a timer."""


class LeapingSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise NothingWillHappen
        if not ready and timeout:
            self.now_s += timeout
        return ready


class VirtualTime(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._leaping = LeapingSelector()
        super().__init__(self._leaping)

    def time(self) -> float:
        return self._leaping.now_s


class ThreadlessTime(VirtualTime):
    """Work for threads is done at once, in the loop's own."""

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":  # type: ignore[override]
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - it is the outcome
            done.set_exception(error)
        return done


def run(story: Coroutine[Any, Any, None], within_s: float = 3600.0) -> None:
    """Runs the story to its end, within this much virtual time. A task that it leaves behind is an error."""
    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        runner.run(_bounded(story, within_s))


async def _bounded(story: Coroutine[Any, Any, None], within_s: float) -> None:
    async with asyncio.timeout(within_s):
        await story
    await asyncio.sleep(1.0)  # connections that were aborted are closed in the next turn
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks were left behind: {left}"
