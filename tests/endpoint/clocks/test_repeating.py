"""A chore that fails is logged and starts again."""

import asyncio
import errno

import pytest

from tests.endpoint.helpers.virtual_time import run
from torpor_account.storage.databases.database import DatabaseFault
from torpor_endpoint.clocks.repeating import CHORE_PAUSE_S, finished, repeated


class Chore:
    """Ends at each of its runs, the first of which fail. Knows when each began."""

    def __init__(self, fails: int, fault: Exception | None = None) -> None:
        self.fails = fails
        self.fault = fault or RuntimeError("it is broken")
        self.began_s: list[float] = []

    async def run(self) -> None:
        self.began_s.append(asyncio.get_running_loop().time())
        if len(self.began_s) <= self.fails:
            raise self.fault
        await asyncio.sleep(10.0)


def test_a_chore_that_fails_is_logged_and_done_again_after_a_pause(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        chore = Chore(fails=2)
        await finished("reports", chore.run, asyncio.sleep)
        assert chore.began_s == [0.0, CHORE_PAUSE_S, 2 * CHORE_PAUSE_S]

    run(story())
    assert [record.getMessage() for record in caplog.records] == [
        "the chore 'reports' failed; starting it again in 1 s"
    ] * 2
    assert all(record.exc_info for record in caplog.records)


def test_a_chore_without_its_database_is_told_once_and_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        chore = Chore(20, DatabaseFault("torpor: the database does not answer"))
        await finished("scaler", chore.run, asyncio.sleep)
        assert len(chore.began_s) == 21

    run(story())
    [record] = caplog.records
    assert record.getMessage() == "the chore 'scaler' waits for the database: torpor: the database does not answer"
    assert not record.exc_info


def test_a_chore_on_a_full_disk_is_told_once_and_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        await finished("logs", Chore(20, OSError(errno.ENOSPC, "No space left on device")).run, asyncio.sleep)

    run(story())
    assert caplog.messages == ["the chore 'logs' waits for the machine: [Errno 28] No space left on device"]
    assert not caplog.records[0].exc_info


def test_a_repeated_chore_goes_on_until_it_is_cancelled() -> None:
    async def story() -> None:
        chore = Chore(fails=1)
        task = asyncio.create_task(repeated("reports", chore.run, asyncio.sleep))
        await asyncio.sleep(25.0)
        assert chore.began_s == [0.0, CHORE_PAUSE_S, CHORE_PAUSE_S + 10.0, CHORE_PAUSE_S + 20.0]
        task.cancel()

    run(story())
