"""The disk tier at work: what it keeps, finds after a restart and evicts, also after a cancelled call."""

import asyncio
import gzip
import shutil
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.container.helpers.fake_store import FakeStore, disk_tier, tar
from tests.container.helpers.keeper_with_fakes import KeeperWithFakes
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_container.artifacts.errors import ArtifactMissing, DiskFull
from torpor_container.artifacts.seals import Seal
from torpor_container.artifacts.unpacked import UnpackedArtifact, UnpackedArtifacts
from torpor_container.errors import LoadFailed, NoRoom
from torpor_container.measuring.load_meter import Meter
from torpor_container.measuring.server_timing import LoadSpans, Timing
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.loader import Placed

CONTENT_BYTES = 20_000


async def content(on: DiskTier, name: str) -> bytes:
    """The content that a load would find."""
    placed = await on.take(name, LoadSpans(asyncio.get_running_loop().time))
    try:
        return (placed.directory / "model.bin").read_bytes()
    finally:
        on.give(name)


def found(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern))


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


def test_an_artifact_on_disk_is_not_downloaded_again_even_after_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(a=b"one")
        before = disk_tier(tmp_path, store)
        assert [await content(before, "a") for _ in range(2)] == [b"one"] * 2
        after = disk_tier(tmp_path, store)
        await after.restore()
        assert await content(after, "a") == b"one"
        assert store.reads == {"a": 1}
        assert after.used_bytes == before.used_bytes > 0

    run(story())


def test_an_artifact_that_does_not_load_is_downloaded_again_if_s3_has_a_newer_one(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(a=b"broken")
        instance = KeeperWithFakes(disk_tier=disk_tier(tmp_path, store))
        instance.models.broken = {"a"}
        for _ in range(2):
            with pytest.raises(LoadFailed):
                await instance.call("a")
        assert store.reads == {"a": 1}
        store.objects["a"], instance.models.broken = b"mended", set()
        assert await instance.call("a") == b"a"
        assert store.reads == {"a": 2}

    run(story())


def test_a_reload_pardons_the_version_that_is_taken_next_and_no_later_one(tmp_path: Path) -> None:
    async def story() -> None:
        tier = disk_tier(tmp_path, FakeStore(a=b"one"))
        pardoned = []
        for reloaded in (False, True, False):
            if reloaded:
                tier.pardon("a")
            pardoned.append((await tier.take("a", LoadSpans(asyncio.get_running_loop().time))).pardoned)
            tier.give("a")
        assert pardoned == [False, True, False]

    run(story())


def test_the_loader_looks_into_each_folder_on_the_thread_that_prepared_it(tmp_path: Path) -> None:
    threads = []

    def look(placed: Placed) -> str:
        threads.append(threading.current_thread())
        return f"{placed.content[:4]} {placed.disk_bytes}"

    async def story() -> None:
        tier = disk_tier(tmp_path, FakeStore(a=b"one"), look=look)
        for _ in range(2):
            placed = await tier.take("a", LoadSpans(asyncio.get_running_loop().time))
            assert placed.seen == f"{placed.content[:4]} 3"
            tier.give("a")
        assert len(threads) == 2
        assert threading.main_thread() not in threads

    run(story())


def test_an_artifact_removed_by_hand_is_downloaded_again(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(a=b"one")
        tier = disk_tier(tmp_path, store)
        assert await content(tier, "a") == b"one"
        (folder,) = found(tmp_path, "*/artifact.json")
        shutil.rmtree(folder.parent)
        assert await content(tier, "a") == b"one"
        assert store.reads == {"a": 2}

    run(story())


@pytest.mark.parametrize("restarted", [False, True])
def test_a_folder_that_somebody_touched_is_unpacked_again(tmp_path: Path, restarted: bool) -> None:
    async def story() -> None:
        store = FakeStore(a=b"one")
        tier = disk_tier(tmp_path, store)
        assert await content(tier, "a") == b"one"
        if restarted:
            tier = disk_tier(tmp_path, store)
            await tier.restore()
        (file,) = found(tmp_path, "*/model/model.bin")
        file.write_bytes(b"two")
        assert await content(tier, "a") == b"one"
        (file.parent / "m.pkl").write_bytes(b"more")
        assert await content(tier, "a") == b"one"
        assert [path.name for path in file.parent.iterdir()] == ["model.bin"]
        assert store.reads == {"a": 3}

    run(story())


def test_a_local_artifact_is_not_downloaded_unless_it_vanishes_meanwhile(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(here=b"one", gone=b"two")
        for name in ("here", "gone"):
            store.lay(name, tmp_path / f"{name}.tar")
        (tmp_path / "gone.tar").unlink()
        tier = disk_tier(tmp_path / "disk", store)
        assert [await content(tier, "here"), await content(tier, "gone")] == [b"one", b"two"]
        assert store.reads == {"gone": 1}
        assert found(tmp_path, "disk/.unfinished/*") == []

    run(story())


def test_no_memory_is_measured_while_a_model_is_downloaded(tmp_path: Path) -> None:
    async def story() -> None:
        meter = Meter()
        tier = disk_tier(tmp_path, FakeStore(a=b"one"), meter=meter)
        with meter.window() as alone:
            await content(tier, "a")
            assert not alone()
        with meter.window() as alone:
            await content(tier, "a")  # it is there
            assert alone()
        with pytest.raises(ArtifactMissing):
            await content(tier, "b")
        with meter.window() as alone:
            assert alone()

    run(story())


def test_a_restart_under_another_prefix_keeps_nothing_of_the_old_one(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(**{"models/a": b"old", "models2/a": b"new", "models2/models/a": b"deep"})
        await content(disk_tier(tmp_path, store, path="models/"), "a")
        after = disk_tier(tmp_path, store, path="models2/")
        await after.restore()
        assert after.used_bytes == 0
        assert await content(after, "models/a") == b"deep"
        assert await content(after, "a") == b"new"

    run(story())


def test_a_restart_with_less_room_keeps_the_newest(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(**{name: bytes(CONTENT_BYTES) for name in "abc"})
        before = disk_tier(tmp_path, store)
        for name in "abc":
            await content(before, name)
        after = disk_tier(tmp_path, store, budget_bytes=2 * CONTENT_BYTES)
        await after.restore()
        assert after.used_bytes == 2 * CONTENT_BYTES
        assert len(found(tmp_path, "*/artifact.json")) == 2
        await asyncio.gather(content(after, "b"), content(after, "c"))
        assert store.reads == {"a": 1, "b": 1, "c": 1}

    run(story())


def test_an_overwritten_object_serves_on_unless_asked_to_revalidate(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(a=b"one")
        faithful, watchful = disk_tier(tmp_path / "f", store), disk_tier(tmp_path / "w", store, revalidate=True)
        assert [await content(faithful, "a"), await content(watchful, "a")] == [b"one", b"one"]
        store.objects["a"] = b"two"
        assert [await content(faithful, "a"), await content(watchful, "a")] == [b"one", b"two"]

    run(story())


def test_a_full_disk_evicts_the_least_used_artifact(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(**{name: bytes(CONTENT_BYTES) for name in "abc"})
        small = disk_tier(tmp_path, store, budget_bytes=130_000)  # two of them, and a third one's guess
        for name in ("a", "b", "a", "c", "a"):
            await content(small, name)
        await small.close()
        assert store.reads == {"a": 1, "b": 1, "c": 1}
        await content(small, "b")
        assert store.reads["b"] == 2

    run(story())


def test_an_artifact_that_can_never_fit_is_refused_and_the_others_stay(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(a=b"one", big=bytes(CONTENT_BYTES * 5))
        small = disk_tier(tmp_path, store, budget_bytes=100_000)
        await content(small, "a")
        with pytest.raises(NoRoom):
            await content(small, "big")
        assert await content(small, "a") == b"one"
        assert store.reads == {"a": 1}

    run(story())


def test_an_artifact_that_fits_is_not_refused_for_an_estimate_of_its_size(tmp_path: Path) -> None:
    async def story() -> None:
        large = bytes(4 * CONTENT_BYTES)
        small = disk_tier(tmp_path, FakeStore(a=b"one", large=large), budget_bytes=100_000)
        assert await content(small, "a") == b"one"
        assert await content(small, "large") == large
        assert small.used_bytes == len(large)

    run(story())


def test_an_artifact_too_large_once_unpacked_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(packed=bytes(6 * CONTENT_BYTES))
        store.pack = lambda body: gzip.compress(tar(body))
        small = disk_tier(tmp_path, store, budget_bytes=100_000)
        with pytest.raises(DiskFull, match="120000 bytes"):
            await content(small, "packed")
        assert (small.used_bytes, found(tmp_path, "*/artifact.json"), found(tmp_path, ".unfinished/*")) == (0, [], [])

    run(story())


def scripts(root: Path, **sizes_bytes: int) -> KeeperWithFakes:
    """Scripts, memory for all of them, and a disk for two small ones, but not for a third one's guess."""
    store = FakeStore(**{name: bytes(size_bytes) for name, size_bytes in sizes_bytes.items()})
    instance = KeeperWithFakes(room=len(sizes_bytes), disk_tier=disk_tier(root, store, budget_bytes=130_000))
    instance.models.scripts = set(sizes_bytes)
    return instance


def test_the_least_recently_used_idle_script_is_unloaded_when_its_folder_needs_the_room(tmp_path: Path) -> None:
    async def story() -> None:
        instance = scripts(tmp_path, **dict.fromkeys("abc", CONTENT_BYTES))
        for name in "aba":
            await instance.call(name)
        timing = Timing(instance.clock)
        async with instance.keeper.lend("c", timing):
            assert instance.resident() == {"a", "c"}
        assert timing.cold is not None
        assert timing.cold["victims"] == ["b"]
        assert instance.residency.why_absent("b") == "c needs the room of its folder on disk"
        assert await instance.call("b") == b"b"

    run(story())


def test_a_call_that_waits_for_a_busy_scripts_folder_gets_the_first_idle_one(tmp_path: Path) -> None:
    async def story() -> None:
        instance = scripts(tmp_path, **dict.fromkeys("abc", CONTENT_BYTES))
        async with instance.keeper.lend("a", Timing(instance.clock)):
            async with instance.keeper.lend("b", Timing(instance.clock)):
                waiting = asyncio.create_task(instance.call("c"))
                done, _ = await asyncio.wait((waiting,), timeout=0.05)
                assert not done
            assert await waiting == b"c"
            assert instance.resident() == {"a", "c"}

    run(story())


def test_no_script_is_unloaded_if_its_folder_frees_too_little(tmp_path: Path) -> None:
    async def story() -> None:
        instance = scripts(tmp_path, a=CONTENT_BYTES, b=CONTENT_BYTES, large=4 * CONTENT_BYTES)
        await instance.call("a")
        async with instance.keeper.lend("b", Timing(instance.clock)):
            waiting = asyncio.create_task(instance.call("large"))  # by its guess it needs the whole disk
            await asyncio.wait((waiting,), timeout=0.05)
            assert instance.resident() == {"a", "b"}
        assert await waiting == b"large"

    run(story())


class SlowDisk(UnpackedArtifacts):
    """One of its steps takes until `go`."""

    def __init__(self, root: Path, slow: str) -> None:
        super().__init__(root, 1_000_000, "bucket")
        self._slow = slow
        self.reached, self.go = threading.Event(), threading.Event()

    def workspace(self) -> Path:
        workspace = super().workspace()
        self._after("workspace")
        return workspace

    def publish(self, key: str, version: str, workspace: Path, seal: Seal, digest: str = "") -> UnpackedArtifact:
        entry = super().publish(key, version, workspace, seal, digest)
        self._after("publish")
        return entry

    def discard(self, workspace: Path) -> None:
        super().discard(workspace)
        self._after("discard")

    def _after(self, step: str) -> None:
        if step == self._slow:
            self.reached.set()
            assert self.go.wait(30.0)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("step", ["workspace", "publish"])
def test_a_call_cancelled_at_any_step_leaves_nothing_on_disk(tmp_path: Path, step: str, in_place: bool) -> None:
    async def story() -> None:
        disk = SlowDisk(tmp_path, step)
        store = FakeStore(a=b"one")
        if in_place:
            store.lay("a", tmp_path / "a.tar")
        tier = disk_tier(tmp_path, store, disk=disk)
        caller = asyncio.create_task(content(tier, "a"))
        assert await asyncio.to_thread(disk.reached.wait, 30.0)
        caller.cancel()
        asyncio.get_running_loop().call_soon(disk.go.set)
        await asyncio.gather(caller, return_exceptions=True)
        assert (tier.used_bytes, found(tmp_path, "*/artifact.json"), found(tmp_path, ".unfinished/*/*")) == (0, [], [])
        assert await content(tier, "a") == b"one"

    run(story())


def test_a_call_cancelled_during_its_download_leaves_nothing_on_disk(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore(a=b"one")
        store.gate.clear()
        tier = disk_tier(tmp_path, store)
        caller = asyncio.create_task(content(tier, "a"))
        await reached(lambda: store.reads["a"])
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        store.gate.set()
        assert (tier.used_bytes, found(tmp_path, "*/artifact.json"), found(tmp_path, ".unfinished/*")) == (0, [], [])
        assert await content(tier, "a") == b"one"

    run(story())


def test_a_download_that_failed_leaves_no_trace_and_is_tried_again(tmp_path: Path) -> None:
    async def story() -> None:
        store = FakeStore()
        tier = disk_tier(tmp_path, store)
        with pytest.raises(ArtifactMissing):
            await content(tier, "a")
        store.objects["a"] = b"late"
        assert await content(tier, "a") == b"late"
        assert found(tmp_path, ".unfinished/*") == []

    run(story())
