"""When S3 is asked whether a model in memory is still the newest."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.container.helpers.fake_store import FakeStore, disk_tier
from tests.helpers.waiting import PATIENCE_S
from torpor_container.artifacts.errors import ArtifactMissing
from torpor_container.artifacts.stores.artifact_store import ArtifactHead
from torpor_container.measuring.server_timing import LoadSpans
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.freshness import ASK_AGAIN_S, NO_ARTIFACT, Freshness, ServedArtifact


class CountingStore(FakeStore):
    heads = 0

    async def head(self, key: str) -> ArtifactHead:
        self.heads += 1
        return await super().head(key)


async def loaded(on: DiskTier, fresh: Freshness) -> None:
    placed = await on.take("a", LoadSpans(asyncio.get_running_loop().time))
    on.give("a")
    fresh.loaded("a", placed.model_id, ServedArtifact(placed.version))


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


def test_another_machine_is_asked_once_in_a_while(tmp_path: Path) -> None:
    async def story() -> None:
        store, now_s = CountingStore(a=b"one"), [0.0]
        on = disk_tier(tmp_path, store)
        fresh = Freshness(on, lambda: now_s[0], asks_s3=True)
        await loaded(on, fresh)
        before = store.heads
        assert [await fresh.outdated("a") for _ in range(5)] == [False] * 5
        store.objects["a"] = b"two"
        assert (await fresh.outdated("a"), store.heads - before) == (False, 1)
        now_s[0] += ASK_AGAIN_S
        assert (await fresh.outdated("a"), store.heads - before) == (True, 2)

    run(story())


def test_a_file_of_this_machine_is_looked_at_each_time(tmp_path: Path) -> None:
    async def story() -> None:
        store = CountingStore(a=b"one")
        store.lay("a", tmp_path / "file")
        on = disk_tier(tmp_path / "disk", store)
        fresh = Freshness(on, lambda: 0.0, asks_s3=True)
        await loaded(on, fresh)
        assert not await fresh.outdated("a")
        store.objects["a"] = b"two"
        assert await fresh.outdated("a")

    run(story())


def test_an_artifact_removed_from_s3_is_an_error_until_its_model_is_gone(tmp_path: Path) -> None:
    async def story() -> None:
        store = CountingStore(a=b"one")
        on = disk_tier(tmp_path, store)
        fresh = Freshness(on, lambda: 0.0, asks_s3=True)
        await loaded(on, fresh)
        store.objects.clear()
        for _ in range(2):
            with pytest.raises(ArtifactMissing):
                await fresh.outdated("a")
        fresh.gone("a")
        assert not await fresh.outdated("a")

    run(story())


def test_a_doubted_model_is_asked_for_before_it_is_taken_from_disk(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(a=b"one")
        on = disk_tier(tmp_path, store)
        fresh = Freshness(on, lambda: 0.0)
        await loaded(on, fresh)
        store.objects["a"] = b"two"
        await loaded(on, fresh)
        assert store.reads["a"] == 1
        on.doubt("a")
        await loaded(on, fresh)
        assert store.reads["a"] == 2

    run(story())


def test_the_version_in_memory_is_known_by_its_name_in_the_store_until_the_model_leaves(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(a=b"one")
        on = disk_tier(tmp_path, store, revalidate=True)
        fresh = Freshness(on, lambda: 0.0)
        assert fresh.artifact_of("a").version == ""
        await loaded(on, fresh)
        first = fresh.artifact_of("a").version
        assert first == (await store.head("a")).version
        store.objects["a"] = b"two"
        assert fresh.artifact_of("a").version == first
        await loaded(on, fresh)
        assert fresh.artifact_of("a").version == (await store.head("a")).version != first
        fresh.gone("a")
        assert fresh.artifact_of("a") == NO_ARTIFACT

    run(story())
