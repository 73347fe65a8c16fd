"""A newer version that is loaded beside the older one: what answers meanwhile, and what is left when it fails."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.container.helpers.fake_store import FakeStore, disk_tier
from tests.container.helpers.keeper_with_fakes import KeeperWithFakes
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_container.errors import LoadFailed
from torpor_container.models.updating.beside_updates import BesideUpdates


class Instance(KeeperWithFakes):
    """Of one model, `a`, whose object a test overwrites. A call is answered with the name of the copy."""

    def __init__(self, folder: Path, room: int = 2) -> None:
        self.store = FakeStore(a=b"one")
        super().__init__(room, disk_tier=disk_tier(folder, self.store))
        self.updates = BesideUpdates(self.keeper, self.keeper._freshness, self.clock)

    async def called(self) -> bytes:
        return await self.call(self.keeper.name_of("a"))

    def updating(self, content: bytes) -> "asyncio.Task[Any]":
        self.store.objects["a"] = content
        return asyncio.create_task(self.updates.update("a"))

    def hold_loads_of(self, copy: str, gate: asyncio.Event) -> None:
        async def pause() -> None:
            await (gate.wait() if ("load", copy) in self.models.events else asyncio.sleep(0))

        self.models.pause = pause

    def loads(self, copy: str) -> int:
        return self.models.counts()["load", copy]


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


def test_the_older_version_answers_without_a_wait_until_the_newer_one_is_loaded(tmp_path: Path) -> None:
    async def story() -> None:
        instance, gate = Instance(tmp_path), asyncio.Event()
        assert await instance.called() == b"a"
        instance.hold_loads_of("a/.", gate)
        update = instance.updating(b"two")
        await instance.models.until("load", "a/.")
        runner = instance.keeper.at_hand(instance.keeper.name_of("a"))
        assert runner is instance.loader.loaded[0]
        assert instance.keeper.take("a"), "a warm call holds the older copy"
        gate.set()
        assert await update == {"model": "a", "was": "resident", "in_flight": 1}
        assert await instance.called() == b"a/."
        assert instance.loads("a/.") == 1
        assert instance.loader.loaded[0].alive, "a call in flight ends on the older copy"
        instance.keeper.give_back("a")
        await instance.settled()
        assert [runner.name for runner in instance.loader.loaded] == ["a/."]
        assert instance.resident() == {"a"}, "nobody outside sees the names of copies"

    run(story())


def test_each_overwrite_switches_and_reads_what_s3_has_then(tmp_path: Path) -> None:
    async def story() -> None:
        instance = Instance(tmp_path)
        answers = [await instance.called()]
        for content in (b"two", b"three", b"four"):
            await instance.updating(content)
            answers.append(await instance.called())
        assert answers == [b"a", b"a/.", b"a", b"a/."]
        assert [instance.loads(copy) for copy in ("a", "a/.")] == [2, 2]
        newest = await instance.keeper._disk_tier.newest("a/.")
        assert instance.keeper._freshness._ids["a/."] == newest.model_id

    run(story())


def test_an_object_that_is_the_same_is_not_loaded_again(tmp_path: Path) -> None:
    async def story() -> None:
        instance = Instance(tmp_path)
        await instance.called()
        assert await instance.updates.update("a") == {"model": "a", "was": "resident", "in_flight": 0}
        assert (await instance.called(), instance.loads("a/.")) == (b"a", 0)

    run(story())


def test_a_newer_version_that_cannot_be_loaded_takes_over_nothing_until_it_can(tmp_path: Path) -> None:
    async def story() -> None:
        instance = Instance(tmp_path)
        await instance.called()
        instance.models.broken = {"a/."}
        with pytest.raises(LoadFailed):
            await instance.updating(b"broken")
        assert await instance.called() == b"a"
        instance.models.broken = set()
        await instance.updating(b"mended")
        assert await instance.called() == b"a/."

    run(story())


def test_a_model_that_is_in_no_memory_is_read_anew_by_its_next_call(tmp_path: Path) -> None:
    async def story() -> None:
        instance = Instance(tmp_path)
        await instance.called()
        instance.keeper.dismiss("a", "nobody calls")
        await instance.settled()
        assert (await instance.updating(b"two"))["was"] == "absent"
        assert await instance.called() == b"a"
        assert instance.keeper._freshness._ids["a"] == (await instance.keeper._disk_tier.newest("a")).model_id

    run(story())


def test_without_room_for_both_calls_wait_for_the_newer_version_and_load_it_once(tmp_path: Path) -> None:
    async def story() -> None:
        instance, gate = Instance(tmp_path, room=1), asyncio.Event()
        await instance.called()
        update = instance.updating(b"two")
        await instance.models.until("unload", "a")
        instance.models.pause = gate.wait
        calls = [asyncio.create_task(instance.called()) for _ in range(5)]
        gate.set()
        assert await asyncio.gather(*calls) == [b"a/."] * 5
        await update
        assert [instance.loads(copy) for copy in ("a", "a/.")] == [1, 1]

    run(story())


def test_a_load_beside_that_takes_longer_than_a_call_waits_takes_over_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        instance, gate = Instance(tmp_path), asyncio.Event()
        await instance.called()
        instance.wait_at_most(0.02)
        instance.hold_loads_of("a/.", gate)
        update = instance.updating(b"two")
        await instance.models.until("load", "a/.")
        await asyncio.sleep(0.1)
        assert instance.keeper.name_of("a") == "a"
        gate.set()
        instance.wait_at_most(60.0)
        await update
        assert (await instance.called(), instance.loads("a/.")) == (b"a/.", 1)

    run(story())


def test_a_call_that_finds_a_newer_object_is_answered_by_the_older_version(tmp_path: Path) -> None:
    async def story() -> None:
        instance = Instance(tmp_path)
        instance.keeper._freshness.asks_s3, instance.keeper.renew = True, instance.updates.begin
        await instance.called()
        instance.keeper._freshness._asked_s.clear()
        instance.store.objects["a"] = b"two"
        assert await instance.called() == b"a"
        await reached(lambda: instance.keeper.name_of("a") == "a/.")
        assert await instance.called() == b"a/."
        await instance.updates.close()

    run(story())
