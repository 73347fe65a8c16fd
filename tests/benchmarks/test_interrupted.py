"""Nothing that was accepted is lost when processes are killed: a short run; and the judge finds each fault."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.interrupted.asking import BUCKET, REFUSED, Ask, Asked
from benchmarks.interrupted.judging import faults
from benchmarks.interrupted.running import Plan, run
from benchmarks.interrupted.stand import Stand
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.async_inference.requests import AsyncRequest, AsyncState
from torpor_endpoint.core.resource_records import AsyncInference
from torpor_endpoint.runtime.asynchronous.async_queue import ASYNC_REQUESTS, AsyncQueue

SHORT = Plan(requests=30, models=6, lasts_s=4.0, largest=256 * 1024, kills_every_s=(0.8, 1.6))
NOW_S = 1000.0
ECHO, REFUSE = Ask("r0", "m.tar.gz", "echo", b"body", None), Ask("r1", "n.tar.gz", "refuse", b"body", None)


@pytest.mark.thorough
def test_every_accepted_request_has_its_one_result_whatever_is_killed(tmp_path: Path) -> None:
    done = run(tmp_path, SHORT, seed=3)
    assert done.faults == []
    assert len(done.asked.accepted) == SHORT.requests
    assert sum(done.kills.values()) > 0


class Ended:
    """Two requests that have ended well: the model echoes one, and refuses the other."""

    def __init__(self, folder: Path) -> None:
        self.stand = Stand(folder)
        self.bucket = self.stand.bucket(BUCKET)
        self.asked = Asked(tries={"r0": 1, "r1": 1})
        self.heard = {"r0": 1, "r1": 1}
        self.killed_s: list[float] = []
        self.queue = AsyncQueue(SqliteFile(self.stand.data_dir / "async.sqlite", ASYNC_REQUESTS), lambda: NOW_S)
        for place, ask in enumerate((ECHO, REFUSE)):
            self.asked.accepted[ask.id] = f"s3://{BUCKET}/out/{place}"
            self.asked.failures[ask.id] = f"s3://{BUCKET}/failed/{place}"
            asyncio.run(self._end(ask, place))
        (self.bucket / "out").mkdir()
        (self.bucket / "failed").mkdir()
        (self.bucket / "out/0").write_bytes(b"body")
        (self.bucket / "failed/1").write_text(REFUSED)

    async def _end(self, ask: Ask, place: int) -> None:
        output = self.asked.accepted[ask.id]
        config = AsyncInference(f"s3://{BUCKET}/out")
        request = AsyncRequest(str(place), ask.id, "e", "v", NOW_S, NOW_S + 60, 900.0, output, config, body=ask.body)
        await self.queue.end(await self.queue.add(request), AsyncState.COMPLETED)

    def change(self, values: str) -> None:
        """Change the queue's record of the first request, as no call of the queue does."""
        with closing(sqlite3.connect(self.stand.data_dir / "async.sqlite")) as database, database:
            assert database.execute(f"UPDATE requests SET {values} WHERE number = 1").rowcount == 1

    def faults(self) -> list[str]:
        self.queue.close()
        return faults(self.stand, [ECHO, REFUSE], self.asked, self.killed_s, self.heard)


def test_a_run_without_a_fault_has_none(tmp_path: Path) -> None:
    assert Ended(tmp_path).faults() == []


SPOILS: dict[str, Callable[[Ended], object]] = {
    "no result": lambda ended: (ended.bucket / "out/0").unlink(),
    "a wrong result": lambda ended: (ended.bucket / "out/0").write_bytes(b"other"),
    "the failure object says": lambda ended: (ended.bucket / "failed/1").unlink(),
    "it has a result": lambda ended: (ended.bucket / "out/1").write_bytes(b""),
    "1 results that nobody asked for": lambda ended: (ended.bucket / "out/2").write_bytes(b""),
    "it is not in the queue's records": lambda ended: ended.asked.accepted.update(r0=f"s3://{BUCKET}/out/9"),
    "nobody heard of its end": lambda ended: ended.heard.pop("r0"),
    "not accepted in time": lambda ended: ended.asked.gave_up.append("r7"),
    "left behind": lambda ended: (ended.stand.temporary / "x").write_bytes(b""),
    "its topic has no notice of its end": lambda ended: ended.change("topic = 'arn', notice = '{}'"),
    "it waits yet": lambda ended: ended.change(f"state = '{AsyncState.QUEUED}'"),
}


@pytest.mark.parametrize("fault", SPOILS)
def test_each_fault_is_found(tmp_path: Path, fault: str) -> None:
    ended = Ended(tmp_path)
    SPOILS[fault](ended)
    assert any(fault in line for line in ended.faults())


def test_a_message_in_the_memory_of_a_killed_worker_is_no_fault(tmp_path: Path) -> None:
    ended = Ended(tmp_path)
    ended.heard.pop("r0")
    ended.killed_s.append(NOW_S + 0.5)
    assert ended.faults() == []
