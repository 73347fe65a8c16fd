"""Captured requests reach a store or are counted as lost, within bounds of memory, whatever the store does."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import pytest

from tests.endpoint.helpers.virtual_time import run
from torpor_account.s3.access.embedded import StorageAway, StorageError
from torpor_endpoint.core.capture import CapturedBody, CapturedRequest
from torpor_endpoint.core.resource_records import DataCapture
from torpor_endpoint.runtime.capture.backlog import CaptureLimits
from torpor_endpoint.runtime.capture.capturing import LIMITS, Capturing
from torpor_endpoint.runtime.capture.delivery import PAUSE_MAX_S, PAUSE_S, TRIES
from torpor_endpoint.runtime.capture.files import FILE_MAX_BYTES, FILE_MAX_S

CAPTURE = DataCapture("s3://bucket/captured", 100, csv_types=("text/csv",))
ALL_TRIES_S = FILE_MAX_S + 1.0 + sum(min(PAUSE_S * 2**number, PAUSE_MAX_S) + 0.2 for number in range(TRIES))


class AtOnce(Executor):
    """A thread that does each work as it is submitted. Its works hang while `hangs` is set."""

    def __init__(self) -> None:
        self.hangs = False
        self.hanging: list[Future[Any]] = []

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.hangs:
            self.hanging.append(future)
            return future
        try:
            future.set_result(function(*args, **kwargs))
        except (StorageError, RuntimeError) as error:
            future.set_exception(error)
        return future


class Bucketful:
    """Objects in memory. It refuses every object while `broken` is set; the machine fails the writes in `away`, which
    come to nothing, or of which only the answer is lost (`kept`)."""

    def __init__(self) -> None:
        self.broken = False
        self.away = range(0)
        self.kept = False
        self.writes = 0
        self.mistaken = "no key"  # a part of the keys for which it raises what it should not
        self.refused = 0
        self.objects: dict[str, bytes] = {}

    def write(self, body: bytes, bucket: str, key: str) -> None:
        if self.mistaken in key:
            raise RuntimeError("a mistake of the store")
        if self.broken:
            self.refused += 1
            raise StorageError(f"s3://{bucket}/{key}: it refused")
        self.writes += 1
        fails = self.writes - 1 in self.away
        if not fails or self.kept:
            self.objects[key] = body
        if fails:
            raise StorageAway(f"s3://{bucket}/{key}: the disk is full")

    def events(self) -> list[str]:
        """The event ids of all records, by file."""
        lines = [line for body in self.objects.values() for line in body.splitlines()]
        return [json.loads(line)["eventMetadata"]["eventId"] for line in lines]


class Noted(NamedTuple):
    """A note of a request that is known already."""

    request: CapturedRequest

    def captured(self) -> CapturedRequest:
        return self.request


class Captures:
    """`Capturing` over these fakes, with a count of the records that are in S3 (True) or lost (False)."""

    def __init__(self, limits: CaptureLimits = LIMITS) -> None:
        self.store, self.thread = Bucketful(), AtOnce()
        self.counted: Counter[bool] = Counter()
        loop = asyncio.get_running_loop()
        self.capturing = Capturing(lambda file: self.store, self.thread, loop.time, self._count, limits)

    def _count(self, endpoint: str, variant: str, records: int, delivered: bool) -> None:
        self.counted[delivered] += records

    def add(
        self, *events: str, endpoint: str = "Shop", variant: str = "blue", at_s: float = 0.0, size: int = 1
    ) -> None:
        body = CapturedBody("text/csv", [b"1" * size])
        for event in events:
            note = Noted(CapturedRequest(CAPTURE, endpoint, variant, event, at_s, body, None))
            self.capturing.backlog.add(note, size)


@asynccontextmanager
async def captures(limits: CaptureLimits = LIMITS) -> AsyncIterator[Captures]:
    made = Captures(limits)
    chore = asyncio.create_task(made.capturing.run())
    yield made
    chore.cancel()
    with suppress(asyncio.CancelledError):
        await chore


def test_records_of_some_seconds_share_a_file() -> None:
    async def story() -> None:
        async with captures() as one:
            one.add("a", "b")
            await asyncio.sleep(FILE_MAX_S - 1.0)
            one.add("c")
            assert one.store.objects == {}
            await asyncio.sleep(1.5)
            assert [len(body.splitlines()) for body in one.store.objects.values()] == [3]
            assert one.store.events() == ["a", "b", "c"]
            assert (one.counted, one.capturing.backlog.held_bytes) == ({True: 3}, 0)

    run(story())


def test_variants_and_hours_have_files_of_their_own() -> None:
    async def story() -> None:
        async with captures() as one:
            for variant, at_s in (("blue", 3599.9), ("blue", 3600.0), ("green", 3600.0)):
                one.add(f"{variant} {at_s}", variant=variant, at_s=at_s)
            await asyncio.sleep(FILE_MAX_S + 1.0)
        folders = sorted(key.rpartition("/")[0] for key in one.store.objects)
        hours = ["blue/1970/01/01/00", "blue/1970/01/01/01", "green/1970/01/01/01"]
        assert folders == [f"captured/Shop/{hour}" for hour in hours]

    run(story())


def test_a_large_file_is_sent_before_its_time() -> None:
    async def story() -> None:
        async with captures() as one:
            one.add("a", size=FILE_MAX_BYTES)
            await asyncio.sleep(0.5)
            assert one.store.events() == ["a"]

    run(story())


def test_an_endpoint_that_goes_and_a_stop_leave_nothing_unsent() -> None:
    async def story() -> None:
        async with captures() as one:
            one.add("a")
            one.add("b", endpoint="Other")
            await one.capturing.flush("Shop")
            assert one.store.events() == ["a"]
        one.add("c", endpoint="Other")
        await one.capturing.close()
        assert one.store.events() == ["a", "b", "c"]

    run(story())


def test_a_store_that_comes_back_gets_every_record() -> None:
    async def story() -> None:
        async with captures() as one:
            one.store.broken = True
            one.add("a", "b")
            await asyncio.sleep(FILE_MAX_S + 10.0)
            assert one.store.refused > 1
            one.store.broken = False
            await asyncio.sleep(PAUSE_MAX_S + 1.0)
            assert (one.store.events(), one.counted) == (["a", "b"], {True: 2})

    run(story())


def test_a_store_that_stays_broken_is_asked_a_few_times_and_the_loss_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        async with captures() as one:
            one.store.broken = True
            one.add("a", "b")
            await asyncio.sleep(ALL_TRIES_S)
            assert (one.store.refused, one.counted) == (TRIES, {False: 2})
            assert one.capturing.backlog.held_bytes == 0

    run(story())
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
    assert "2 captured records of endpoint Shop are lost" in caplog.text


def test_a_disk_that_stays_full_loses_no_record(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with captures() as one:
            one.store.away = range(10**9)
            one.add("a", "b")
            await asyncio.sleep(5 * ALL_TRIES_S)
            assert (one.store.objects, one.counted) == ({}, {})
            one.store.away = range(0)
            await asyncio.sleep(PAUSE_MAX_S + 1.0)
            assert (one.store.events(), one.counted) == (["a", "b"], {True: 2})

    run(story())
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("away", [1, 3])
def test_each_record_is_in_one_file_whatever_write_the_machine_fails(kept: bool, away: int) -> None:
    async def story() -> None:
        for first in range(4):
            async with captures() as one:
                one.store.kept, one.store.away = kept, range(first, first + away)
                for hour, events in enumerate(("ab", "cd", "ef", "gh")):
                    one.add(*events, at_s=hour * 3600.0)
                await asyncio.sleep(FILE_MAX_S + 4 * PAUSE_MAX_S)
                assert sorted(one.store.events()) == list("abcdefgh"), first
                assert one.counted == {True: 8}, first
                assert one.store.writes == 4 + away, first

    run(story())


@pytest.mark.parametrize("size", [1, 10_000])
def test_memory_stays_within_its_bounds_while_the_store_hangs(size: int) -> None:
    async def story() -> None:
        limits = CaptureLimits(bytes=1_000_000, records=50)
        async with captures(limits) as one:
            one.thread.hangs = True
            for second in range(100):
                one.add(*(f"{second} {number}" for number in range(60)), size=size)
                assert len(one.capturing.backlog) <= limits.records
                assert one.capturing.backlog.held_bytes <= 1.5 * limits.bytes
                await asyncio.sleep(1.0)
            assert one.counted[False] >= 1000
            for future in one.thread.hanging:
                future.set_exception(StorageError("it took too long"))
            one.thread.hangs = False
            await asyncio.sleep(ALL_TRIES_S)
            assert one.counted[True] + one.counted[False] == 6000
            assert len(one.store.events()) == one.counted[True]

    run(story())


def test_the_endpoint_stays_responsive_while_much_is_encoded() -> None:
    async def story() -> None:
        async with captures() as one:
            one.add(*map(str, range(200)))
            turns = 0
            while one.capturing.backlog:
                turns += 1
                await asyncio.sleep(0)
            assert turns >= 200 / 16

    run(story())


def test_a_chore_that_is_stopped_while_it_encodes_loses_no_record() -> None:
    async def story() -> None:
        async with captures() as one:
            one.add(*map(str, range(100)))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await one.capturing.close()
        assert one.store.events() == list(map(str, range(100)))

    run(story())


def test_a_chore_that_starts_again_sends_what_was_left() -> None:
    async def story() -> None:
        async with captures() as one:
            one.add("a")
            await asyncio.sleep(0.05)
        again = asyncio.create_task(one.capturing.run())
        await asyncio.sleep(FILE_MAX_S + 1.0)
        assert one.store.events() == ["a"]
        again.cancel()

    run(story())


def test_a_store_that_raises_an_unknown_error_loses_its_file_and_no_other() -> None:
    async def story() -> None:
        async with captures() as one:
            one.store.mistaken = "blue"
            one.add("a", variant="blue")
            one.add("b", variant="green")
            await asyncio.sleep(ALL_TRIES_S)
            assert one.store.events() == ["b"]
            assert (one.counted, one.capturing.backlog.held_bytes) == ({True: 1, False: 1}, 0)

    run(story())


@pytest.mark.parametrize("size", [1, 1_000_000], ids=["short", "long"])
def test_a_record_that_cannot_be_encoded_is_lost_and_no_other(size: int) -> None:
    async def story() -> None:
        async with captures() as one:
            bad = CapturedBody("text/csv", ["no bytes", "at all"])  # type: ignore[list-item]
            request = CapturedRequest(CAPTURE, "Shop", "blue", "a", 0.0, bad, None)
            one.capturing.backlog.add(Noted(request), size)
            one.add("b")
            await asyncio.sleep(FILE_MAX_S + 1.0)
            assert one.store.events() == ["b"]
            assert (one.counted, one.capturing.backlog.held_bytes) == ({True: 1, False: 1}, 0)

    run(story())
