"""Adapters of a container whose disk has room for a few: who uses one keeps it, and each request finds its own."""

import asyncio
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import cast
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor_container.adapter.model_adapters import NAME, URL, ModelAdapters
from torpor_container.errors import LoadFailed, NoRoom
from torpor_container.invocation import Invocation
from torpor_container.models.tier import MakeRoom
from torpor_container.transport.upstream import Headers, Upstream


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
        self._change = asyncio.Event()

    async def fetch(self, url: str, make_room: MakeRoom) -> Path:
        if url.endswith("huge"):
            raise NoRoom("it needs more than the whole budget")
        while url not in self.pins and len(self.pins) >= self.room:
            change = self._change
            if not await make_room(1):
                await change.wait()
        self.pins[url] = self.pins.get(url, 0) + 1
        self._changed()
        return Path(f"/{url}")

    def give(self, url: str) -> None:
        self.pins[url] -= 1
        if not self.pins[url]:
            del self.pins[url]
        self._changed()

    async def close(self) -> None: ...

    def _changed(self) -> None:
        self._change.set()
        self._change = asyncio.Event()


def naming(name: str, url: str) -> Invocation:
    class Named:
        headers = ((NAME, name.encode()), (URL, url.encode()))

    return cast(Invocation, Named())


@settings(max_examples=tries(20), deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from((0.0, 0.2)))
def test_every_request_finds_its_adapter_as_long_as_it_lasts_and_nothing_is_left(
    seed: int, room: int, refusals: float
) -> None:
    dice = random.Random(seed)

    async def story() -> None:
        container, disk = Container(dice, refusals), Disk(room)
        adapters = ModelAdapters(lambda: cast(Upstream, container), disk, str)
        used: list[str] = []

        async def request() -> None:
            name, version = dice.choice("abcd"), dice.choice("01")
            with suppress(LoadFailed):
                async with adapters.used_by(naming(name, f"{name}{version}")):
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
        adapters = ModelAdapters(lambda: cast(Upstream, container), disk, str)
        async with adapters.used_by(naming("a", "a0")):
            pass
        with pytest.raises(NoRoom, match=r"adapter b: it needs more than the whole budget\. The disk that the model"):
            async with adapters.used_by(naming("b", "huge")):
                pass
        assert (list(disk.pins), list(container.has)) == (["a0"], ["a"])

    asyncio.run(story())


def test_one_in_use_stays_and_who_needs_its_room_waits_for_the_end_of_the_request() -> None:
    async def story() -> None:
        container, disk = Container(random.Random(1), 0.0), Disk(1)
        adapters = ModelAdapters(lambda: cast(Upstream, container), disk, str)
        came = asyncio.Event()

        async def second() -> None:
            async with adapters.used_by(naming("b", "b0")):
                came.set()

        async with adapters.used_by(naming("a", "a0")):
            waiting = asyncio.create_task(second())
            for _ in range(50):
                await asyncio.sleep(0.001)
            assert (came.is_set(), list(container.has)) == (False, ["a"])
        await asyncio.wait_for(waiting, 30.0)
        assert list(container.has) == ["b"]

    asyncio.run(story())
