"""The durable queue: what it accepted is there after a crash, and what has ended is not."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.account.helpers.databases import OpenPart
from torpor_account.storage.databases.database import DatabaseFault, OutcomeUnknown
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.async_inference.requests import AsyncRequest, AsyncState, Notice
from torpor_endpoint.core.resource_records import AsyncInference
from torpor_endpoint.runtime.asynchronous.async_queue import ASYNC_REQUESTS, KEPT_S, AsyncQueue


def request(number: int, endpoint: str = "e") -> AsyncRequest:
    return AsyncRequest(
        id=f"id-{number}",
        inference_id=f"inference-{number}",
        endpoint=endpoint,
        variant="v",
        received_s=float(number),
        expires_s=number + 60.0,
        timeout_s=900.0,
        output=f"s3://out/{number}",
        config=AsyncInference("s3://out"),
        headers={"content-type": "text/csv"},
        body=bytes([number]),
    )


def with_queue(opened: OpenPart, story: Callable[[AsyncQueue], Coroutine[Any, Any, None]]) -> None:
    now_s = 1000.0
    queue = AsyncQueue(opened(ASYNC_REQUESTS), lambda: now_s)
    try:
        asyncio.run(story(queue))
    finally:
        queue.close()


def test_requests_that_come_together_are_all_kept_in_their_order(opened: OpenPart) -> None:
    async def come(queue: AsyncQueue) -> None:
        numbers = await asyncio.gather(*(queue.add(request(number)) for number in range(50)))
        assert numbers == sorted(numbers)

    async def there(queue: AsyncQueue) -> None:
        waiting = queue.waiting()
        assert [one.received_s for one in waiting] == list(map(float, range(50)))
        kept = queue.get(waiting[7].number)
        assert kept is not None
        assert (kept.request, kept.state) == (request(7), AsyncState.QUEUED)

    with_queue(opened, come)
    with_queue(opened, there)


class Unanswering(SqliteFile):
    """The first transaction is made, and its answer is lost."""

    silent = True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with super().transaction():
            yield
        if self.silent:
            self.silent = False
            raise OutcomeUnknown("the connection broke")


def test_requests_whose_commit_had_no_answer_are_not_kept_twice() -> None:
    queue = AsyncQueue(Unanswering(":memory:", ASYNC_REQUESTS), lambda: 1000.0)

    async def come() -> None:
        came = await asyncio.gather(*(queue.add(request(number)) for number in range(3)), return_exceptions=True)
        assert [type(one) for one in came] == [OutcomeUnknown] * 3
        assert len(queue.waiting()) == 3

    asyncio.run(come())
    queue.close()


def test_an_ended_request_waits_no_more_and_its_notice_waits_until_it_is_told(opened: OpenPart) -> None:
    notice = Notice("arn:aws:sns:us-east-1:1:t", "{}")

    async def end(queue: AsyncQueue) -> None:
        first, second = await queue.add(request(1)), await queue.add(request(2))
        await queue.end(first, AsyncState.COMPLETED, None, notice)
        await queue.end(second, AsyncState.FAILED, "why", notice)
        await queue.sent(second)

    async def after(queue: AsyncQueue) -> None:
        assert queue.waiting() == []
        [unsent] = queue.unsent((), 10)
        assert (unsent.number, unsent.endpoint, unsent.notice) == (1, "e", notice)
        assert queue.unsent((notice.topic,), 10) == []
        [failed] = queue.find("inference-2")
        assert (failed.state, failed.reason, failed.ended_s) == (AsyncState.FAILED, "why", 1000.0)
        assert failed.request.body is None  # its input is kept no longer

    with_queue(opened, end)
    with_queue(opened, after)


def test_only_a_request_that_waits_can_be_cancelled(opened: OpenPart) -> None:
    async def story(queue: AsyncQueue) -> None:
        number = await queue.add(request(1))
        assert await queue.cancel(number)
        assert not await queue.cancel(number)
        assert [one.state for one in queue.latest("e", AsyncState.CANCELLED, 10)] == [AsyncState.CANCELLED]

    with_queue(opened, story)


def test_the_requests_of_a_deleted_endpoint_may_not_be_answered_after_a_crash(opened: OpenPart) -> None:
    async def story(queue: AsyncQueue) -> None:
        await queue.add(request(1, "gone"))
        await queue.add(request(2, "here"))
        await queue.doom("gone", "deleted")
        assert [(one.endpoint, one.expires_s) for one in queue.waiting()] == [("gone", 0.0), ("here", 62.0)]
        assert [one.reason for one in queue.latest("gone", None, 10)] == ["deleted"]

    with_queue(opened, story)


def test_the_requests_of_a_deleted_component_alone_may_not_be_answered_after_a_crash(opened: OpenPart) -> None:
    async def story(queue: AsyncQueue) -> None:
        for number, variant in enumerate(("component.a", "component.a.2", "component.b"), start=1):
            await queue.add(replace(request(number, "e"), variant=variant))
        await queue.doom("e", "deleted", ["component.a", "component.a.2"])
        assert [one.expires_s > 0 for one in queue.waiting()] == [False, False, True]

    with_queue(opened, story)


def test_attempts_are_counted_over_a_restart(opened: OpenPart) -> None:
    async def two(queue: AsyncQueue) -> None:
        number = await queue.add(request(1))
        for attempts in (1, 2, 2):  # the same one again counts once
            kept = await queue.begin(number, attempts)
            assert kept is not None
            assert (kept.attempts, kept.request.body) == (attempts, b"\x01")
        await queue.uncount(number, 1)

    async def then(queue: AsyncQueue) -> None:
        [one] = queue.waiting()
        kept = await queue.begin(one.number, one.attempts + 1)
        assert kept is not None
        assert kept.attempts == 2
        await queue.end(one.number, AsyncState.COMPLETED)
        assert await queue.begin(one.number, 3) is None

    with_queue(opened, two)
    with_queue(opened, then)


def test_records_go_when_they_are_old_and_told(opened: OpenPart) -> None:
    now_s = 0.0
    queue = AsyncQueue(opened(ASYNC_REQUESTS), lambda: now_s)

    async def story() -> None:
        nonlocal now_s
        await queue.end(await queue.add(request(1)), AsyncState.COMPLETED)
        waits = await queue.add(request(2))
        now_s = KEPT_S - 1
        await queue.prune()
        assert len(queue.latest(None, None, 10)) == 2
        now_s = KEPT_S + 1
        await queue.prune()
        assert [one.number for one in queue.latest(None, None, 10)] == [waits]

    try:
        asyncio.run(story())
    finally:
        queue.close()


def test_a_commit_that_fails_fails_its_requests_and_no_later_ones(tmp_path: Path) -> None:
    async def story(queue: AsyncQueue) -> None:
        holder = sqlite3.connect(tmp_path / "async.sqlite", isolation_level=None)
        holder.execute("CREATE TRIGGER full BEFORE INSERT ON requests BEGIN SELECT RAISE(ABORT, 'full'); END")
        together = await asyncio.gather(queue.add(request(1)), queue.cancel(99), return_exceptions=True)
        assert isinstance(together[0], DatabaseFault)
        assert together[1] is False  # what came beside it is not lost
        holder.execute("DROP TRIGGER full")
        holder.close()
        await queue.add(request(2))
        assert [one.received_s for one in queue.waiting()] == [2.0]

    with_queue(lambda part: SqliteFile(tmp_path / "async.sqlite", part), story)
