"""Adapters of a container whose disk has room for a few: who uses one keeps it, and each request finds its own."""

import asyncio
import json
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import cast
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from tests.sdk.helpers.virtual_loop import run
from torpor_container.adapter.model_adapters import NAME, URL, AdapterFolder, ModelAdapters
from torpor_container.errors import LoadFailed, ModelAbsent, NoRoom
from torpor_container.invocation import Invocation
from torpor_container.measuring.server_timing import Clock, LoadSpans, Timing
from torpor_container.models.tier import MakeRoom
from torpor_container.transport.upstream import Headers, Upstream
from torpor_container.wire import WaitStep


class Answer:
    def __init__(self, status: int) -> None:
        self.status, self.body = status, b"told"


class Container:
    """A container that may refuse, and takes a moment."""

    def __init__(self, dice: random.Random, refusals: float) -> None:
        self.has: dict[str, str] = {}
        self._dice = dice
        self._refusals = refusals

    async def send(self, method: str, path: str, headers: Headers, body: list[bytes], within_s: float) -> Answer:
        await asyncio.sleep(self._dice.choice((0, 0.001)))
        if self._dice.random() < self._refusals:
            return Answer(500)
        if method == "DELETE":
            return Answer(200 if self.has.pop(unquote(path.rpartition("/")[2]), None) else 404)
        told = json.loads(body[0])
        self.has[told["name"]] = told["src"]
        return Answer(200)


class Disk:
    """Room for so many folders. One that is given back stays until its room is needed."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.pins: dict[str, int] = {}
        self.fetch_s = 0.0
        self._change = asyncio.Event()

    async def fetch(self, url: str, spans: LoadSpans, make_room: MakeRoom) -> AdapterFolder:
        if url.endswith("huge"):
            raise NoRoom("it needs more than the whole budget")
        if self.fetch_s:
            with spans.step(WaitStep.DOWNLOAD):
                await asyncio.sleep(self.fetch_s)
            spans.fetched_bytes = 7
        while url not in self.pins and len(self.pins) >= self.room:
            change = self._change
            if not await make_room(1):
                await change.wait()
        self.pins[url] = self.pins.get(url, 0) + 1
        self._changed()
        return AdapterFolder(Path(f"/{url}"), 70, 100)

    def give(self, url: str) -> None:
        self.pins[url] -= 1
        if not self.pins[url]:
            del self.pins[url]
        self._changed()

    async def close(self) -> None: ...

    def _changed(self) -> None:
        self._change.set()
        self._change = asyncio.Event()


def made(container: Container, disk: Disk, clock: Clock = time.monotonic) -> ModelAdapters:
    return ModelAdapters(lambda: cast(Upstream, container), disk, str, clock)


def naming(name: str, url: str, only_loaded: bool = False) -> Invocation:
    invocation = Invocation(b"")
    invocation.headers, invocation.only_loaded = ((NAME, name.encode()), (URL, url.encode())), only_loaded
    return invocation


@settings(max_examples=tries(20), deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from((0.0, 0.2)))
def test_every_request_finds_its_adapter_as_long_as_it_lasts_and_nothing_is_left(
    seed: int, room: int, refusals: float
) -> None:
    dice = random.Random(seed)

    async def story() -> None:
        container, disk = Container(dice, refusals), Disk(room)
        adapters = made(container, disk)
        used: list[str] = []

        async def request() -> None:
            name, version = dice.choice("abcd"), dice.choice("01")
            with suppress(LoadFailed):
                async with adapters.used_by(naming(name, f"{name}{version}"), Timing(time.monotonic)):
                    used.append(name)
                    for _ in range(dice.randrange(4)):
                        assert name in container.has
                        assert len(disk.pins) <= room
                        await asyncio.sleep(dice.choice((0, 0.001)))

        tasks = [asyncio.create_task(request()) for _ in range(30)]
        for one in dice.sample(tasks, 4):
            await asyncio.sleep(0)
            one.cancel()
        for done in await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30.0):
            assert done is None or isinstance(done, asyncio.CancelledError)
        assert disk.pins == dict.fromkeys(disk.pins, 1)
        assert refusals or {f"/{url}" for url in disk.pins} == set(container.has.values())
        assert used

    asyncio.run(story())


def test_one_that_does_not_fit_is_named_in_its_error_and_takes_no_other_adapters_room() -> None:
    async def story() -> None:
        container, disk = Container(random.Random(1), 0.0), Disk(1)
        adapters = made(container, disk)
        async with adapters.used_by(naming("a", "a0"), Timing(time.monotonic)):
            pass
        with pytest.raises(NoRoom, match=r"adapter b: it needs more than the whole budget\. The disk that the model"):
            async with adapters.used_by(naming("b", "huge"), Timing(time.monotonic)):
                pass
        assert (list(disk.pins), list(container.has)) == (["a0"], ["a"])

    asyncio.run(story())


def test_one_in_use_stays_and_who_needs_its_room_waits_for_the_end_of_the_request() -> None:
    async def story() -> None:
        container, disk = Container(random.Random(1), 0.0), Disk(1)
        adapters = made(container, disk)
        came = asyncio.Event()

        async def second() -> None:
            async with adapters.used_by(naming("b", "b0"), Timing(time.monotonic)):
                came.set()

        async with adapters.used_by(naming("a", "a0"), Timing(time.monotonic)):
            waiting = asyncio.create_task(second())
            for _ in range(50):
                await asyncio.sleep(0.001)
            assert (came.is_set(), list(container.has)) == (False, ["a"])
        await asyncio.wait_for(waiting, 30.0)
        assert list(container.has) == ["b"]

    asyncio.run(story())


def test_who_waits_for_one_has_the_steps_of_its_load_and_the_next_request_has_none() -> None:
    container, disk = Container(random.Random(1), 0.0), Disk(1)
    disk.fetch_s = 2.0

    async def story() -> list[Timing]:
        loop = asyncio.get_running_loop()
        adapters = made(container, disk, loop.time)

        async def request(name: str, after_s: float) -> Timing:
            await asyncio.sleep(after_s)
            timing = Timing(loop.time)
            async with adapters.used_by(naming(name, name), timing):
                return timing

        return list(await asyncio.gather(request("a", 0.0), request("a", 1.5), request("a", 5.0), request("b", 6.0)))

    first, second, warm, other = run(story())
    assert first.steps[WaitStep.DOWNLOAD] == pytest.approx(2.0)
    assert second.steps[WaitStep.DOWNLOAD] == pytest.approx(0.5)
    assert first.cold is not None
    assert second.cold is not None
    assert other.cold is not None
    assert (first.cold["bytes"], first.cold["adapters_bytes"], first.cold["fetched_bytes"]) == (70, 100, 7)
    assert first.cold["took_s"] == pytest.approx(2.0, abs=0.01)
    assert first.cold["victims"] == []
    assert "fetched_bytes" not in second.cold
    assert (first.led, second.led, warm.led, other.led) == (True, False, False, True)
    assert (warm.steps, warm.cold) == ({}, None)
    assert other.cold["victims"] == ["a"]


def test_a_request_that_is_to_begin_no_load_waits_for_one_that_is_under_way_alone() -> None:
    async def story() -> None:
        container, disk = Container(random.Random(1), 0.0), Disk(2)
        disk.fetch_s = 1.0
        adapters = made(container, disk)

        async def used(only_loaded: bool) -> None:
            async with adapters.used_by(naming("red", "1", only_loaded), Timing(time.monotonic)):
                assert "red" in container.has

        with pytest.raises(ModelAbsent):
            await used(only_loaded=True)
        assert not container.has
        loads = asyncio.create_task(used(only_loaded=False))
        await asyncio.sleep(0.5)
        await used(only_loaded=True)
        await loads
        await used(only_loaded=True)

    run(story())
