"""Work that never returns costs its own thread and no other."""

import asyncio
import threading

import pytest

from tests.helpers.waiting import PATIENCE_S, reached
from torpor_container.errors import NoMemoryNow
from torpor_container.processes.threads import Threads, run_to_completion


def test_a_hanging_thread_is_given_up_and_replaced() -> None:
    async def story() -> None:
        threads, began, go_on = Threads(1, "test"), threading.Event(), threading.Event()

        def hang() -> None:
            began.set()
            go_on.wait()

        hanging = asyncio.ensure_future(threads.run(hang))
        await reached(began.is_set)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert threads.lost == 1
        assert await asyncio.wait_for(threads.run(str.upper, "next"), PATIENCE_S) == "NEXT"
        go_on.set()
        await reached(lambda: not threads.lost)
        threads.close()

    asyncio.run(story())


def test_a_call_cancelled_in_the_queue_loses_no_thread() -> None:
    async def story() -> None:
        threads, go_on = Threads(1, "test"), threading.Event()
        first = asyncio.ensure_future(threads.run(go_on.wait, 30.0))
        await asyncio.sleep(0)  # it takes the one thread
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(threads.run(str.upper, "never"), 0.05)
        assert threads.lost == 0
        go_on.set()
        assert await first
        threads.close()

    asyncio.run(story())


def test_work_behind_hanging_threads_is_done_once_the_threads_are_given_up() -> None:
    async def story() -> None:
        threads, go_on, done, begun = Threads(2, "test"), threading.Event(), list[int](), list[int]()

        def hang(number: int) -> None:
            begun.append(number)
            go_on.wait(30.0)

        hung = [asyncio.create_task(threads.run(hang, number)) for number in range(2)]
        await reached(lambda: len(begun) == 2)  # they take both threads
        waiting = [asyncio.create_task(threads.run(done.append, number)) for number in range(2)]
        await asyncio.sleep(0)
        for task in hung:
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE_S)
        assert (sorted(done), threads.lost) == ([0, 1], 2)
        go_on.set()
        threads.close()

    asyncio.run(story())


def test_without_memory_for_another_thread_those_that_run_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def story() -> None:
        threads, go_on = Threads(3, "test"), threading.Event()
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", no_thread)
            with pytest.raises(NoMemoryNow, match="no memory for a thread"):
                await threads.run(str.upper, "never")
        first = asyncio.create_task(threads.run(go_on.wait, 30.0))
        await asyncio.sleep(0)  # it takes the one thread
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", no_thread)
            behind = [asyncio.create_task(threads.run(str.upper, word)) for word in "abcd"]
            await asyncio.sleep(0)
            go_on.set()
            assert await asyncio.wait_for(asyncio.gather(*behind), PATIENCE_S) == ["A", "B", "C", "D"]
        assert await first
        threads.close()

    asyncio.run(story())


@pytest.mark.parametrize("cancelled", [1, 2, 3])
def test_work_is_awaited_to_its_end_however_often_its_caller_is_cancelled(cancelled: int) -> None:
    """A task of a group is cancelled once with the group, and once more by whoever clears the group away."""

    async def story() -> list[str]:
        began, go_on, told = threading.Event(), threading.Event(), list[str]()

        def work() -> None:
            began.set()
            go_on.wait()
            told.append("the work has ended")

        calling = asyncio.ensure_future(run_to_completion(work))
        calling.add_done_callback(lambda _: told.append("the caller goes on"))
        await reached(began.is_set)
        for _ in range(cancelled):
            calling.cancel()
            for _ in range(3):  # until the task has met it
                await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await calling
        return told

    assert asyncio.run(story()) == ["the work has ended", "the caller goes on"]
