"""How the work of jobs waits for its threads."""

import asyncio
from threading import Event

import pytest

from tests.helpers.waiting import reached
from torpor_endpoint.services.jobs.work import finished


@pytest.mark.parametrize("cancelled", [1, 2, 3])
def test_a_thread_is_awaited_however_often_its_caller_is_cancelled(cancelled: int) -> None:
    """A worker of a transform job is cancelled with the others, and once more by whoever clears them away."""

    async def story() -> list[str]:
        began, go_on, told = Event(), Event(), list[str]()

        def work() -> None:
            began.set()
            go_on.wait()
            told.append("the work has ended")

        calling = asyncio.ensure_future(finished(work))
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
