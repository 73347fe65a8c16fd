"""The disk tier at work: artifacts are fetched and unpacked once, kept for the next load, removed for lack of room."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from torpor_container.artifacts.archives.unpack import UnpackLimits, unpack
from torpor_container.artifacts.disk import MODEL, PACKED, UnpackedArtifact, UnpackedArtifacts
from torpor_container.artifacts.errors import ArtifactMissing
from torpor_container.artifacts.location import Prefix, name_of
from torpor_container.artifacts.loose import LooseFiles
from torpor_container.artifacts.neighbours import Neighbours
from torpor_container.artifacts.stores.store import ArtifactHead, ArtifactStore
from torpor_container.core.residency import Hit, Residency
from torpor_container.measuring.effort import measured
from torpor_container.measuring.meter import Meter
from torpor_container.measuring.timing import LoadStory
from torpor_container.models.loader import Placed
from torpor_container.models.memory_tier import MakeRoom, MemoryTier
from torpor_container.trials import verdicts
from torpor_container.uncancellable import to_its_end
from torpor_container.wire import WaitStep

UNPACKED_RATIO = 3
"""Bytes on disk per byte in S3, before it is known. Corrected as soon as the artifact is unpacked."""


class Newest(NamedTuple):
    """The id that this version has, or would have, on disk. `near`: to ask was a look at this machine's own disk."""

    model_id: str
    near: bool


class DiskTier:
    """Where the keeper gets folders from. One caller per key at a time: the keeper sees to that."""

    def __init__(
        self,
        prefix: Prefix,
        store: ArtifactStore,
        disk: UnpackedArtifacts,
        books: Residency,
        limits: UnpackLimits,
        clock: Callable[[], float],
        revalidate: bool = False,
        meter: Meter | None = None,
        loose: LooseFiles | None = None,
    ) -> None:
        """`meter` is that of the models in this process: fetching and unpacking takes memory too. `loose` fetches the
        models where they are no archives."""
        self._prefix = prefix
        self._store = store
        self._disk = disk
        self._tier = MemoryTier(books, clock, self._remove)
        self._limits = limits
        self._revalidate = revalidate
        self._meter = meter or Meter()
        self._loose = loose
        self._neighbours = Neighbours(prefix, store, clock)
        self._unproved: set[str] = set()  # the object in S3 may be a newer one by now, and should be used then

    async def take(self, name: str, story: LoadStory, make_room: MakeRoom | None = None) -> Placed:
        """The folder of this model, from disk if it is there, pinned until given back.

        `make_room` is asked when too many folders are pinned to fetch it. Raises the artifact errors and NoRoom.
        """
        await self._prove(name)
        await self._drop_if_gone(name)
        if not isinstance(await self._tier.requested(name), Hit):
            with self._tier.coming_in(name):
                await self._fetch(name, story, make_room)
            self._tier.changed()  # a download fewer is in flight
            self._tier.dismiss(self._tier.books.excess(name, self._tier.clock()))
        entry = self._entry(name)
        return Placed(name, entry.model_id, entry.directory, entry.directory.with_name(verdicts.NAME))

    def doubt(self, name: str) -> None:
        """What is on disk serves nobody: before it is taken again S3 is asked for a newer version."""
        if self._tier.books.get(name) is not None:  # else it is fetched anyway
            self._unproved.add(name)

    async def newest(self, name: str) -> Newest:
        """What S3 has of this model now. Raises the artifact errors."""
        head = await self._head(name)
        return Newest(self._disk.id_of(self._prefix.key_of(name), head.version), head.file is not None)

    def give(self, name: str) -> None:
        """The folder is needed no more by this caller; it stays for the next one."""
        self._tier.released(name)

    def size_of(self, name: str) -> int:
        """How many bytes a folder that is on disk has."""
        return self._entry(name).size_bytes

    def changed(self) -> None:
        """There may be room to make now: who waits for it asks again."""
        self._tier.changed()

    async def drop(self, name: str, reason: str) -> None:
        """Remove a folder nobody uses."""
        if self._tier.books.drop(name, reason, self._tier.clock()):
            await self._tier.dismiss((name,))

    async def restore(self) -> None:
        """Enter into the books what an earlier process left on disk: the newest that fit; the rest goes."""
        room_bytes = self._tier.books.budget_bytes
        kept: list[tuple[str, UnpackedArtifact]] = []
        for entry in reversed(await asyncio.to_thread(self._disk.scan)):
            name = self._prefix.name_of_key(entry.key)
            if name is not None and entry.size_bytes <= room_bytes:
                room_bytes -= entry.size_bytes
                kept.append((name, entry))
            else:
                await asyncio.to_thread(self._disk.remove, entry.key)
        for name, entry in reversed(kept):
            self._tier.books.found(name, entry.size_bytes, self._tier.clock())
            self._unproved.add(name)

    async def close(self) -> None:
        await self._tier.close()

    @property
    def used_bytes(self) -> int:
        return self._tier.books.planned_bytes

    def name_of(self, target: str) -> str:
        """The one name of a target, however it is written. Raises TargetForbidden."""
        name = name_of(target)
        self._prefix.key_of(name)
        return name

    # -- inside ----------------------------------------------------------------------------------------------------
    def _entry(self, name: str) -> UnpackedArtifact:
        entry = self._disk.find(self._prefix.key_of(name))
        assert entry is not None, "the books say that it is on disk"
        return entry

    async def _fetch(self, name: str, story: LoadStory, make_room: MakeRoom | None) -> None:
        key = self._prefix.key_of(name)
        began_s = self._tier.clock()
        with story.step(WaitStep.DOWNLOAD):
            head = await self._head(name)
        await self._tier.admitted(name, self._predicted_bytes(head), make_room)
        with self._meter.window():
            size_bytes = await self._bring(key, head, story)
        now_s = self._tier.clock()
        self._tier.books.loaded(name, size_bytes, now_s - began_s, now_s)

    async def _head(self, name: str) -> ArtifactHead:
        """Raises ArtifactMissing with the names that are near."""
        key = self._prefix.key_of(name)
        try:
            return await (self._loose.head(key) if self._loose is not None else self._store.head(key))
        except ArtifactMissing as missing:
            near = await self._neighbours.near(name)
            raise ArtifactMissing(missing.bucket, missing.key, near) from missing

    def _predicted_bytes(self, head: ArtifactHead) -> int:
        """A guess refuses nothing: only what is more than the whole disk already as it lies in S3 can never fit."""
        budget_bytes = self._tier.books.budget_bytes
        return max(head.size_bytes, min(head.size_bytes * UNPACKED_RATIO, budget_bytes))

    async def _bring(self, key: str, head: ArtifactHead, story: LoadStory) -> int:
        try:
            if head.file is not None:
                with suppress(FileNotFoundError), story.step(WaitStep.UNPACK):  # it may be deleted just now
                    return await self._measured(story, self._unpack_in_place, key, head, head.file)
            return await self._bring_through(await asyncio.to_thread(self._disk.workspace), key, head, story)
        except asyncio.CancelledError:
            await to_its_end(self._disk.remove, key)  # published just as its caller's time was up
            raise

    async def _bring_through(self, workspace: Path, key: str, head: ArtifactHead, story: LoadStory) -> int:
        """By way of a folder that is gone afterwards."""
        try:
            if self._loose is not None:
                with story.step(WaitStep.DOWNLOAD):
                    await self._loose.gather(key, head, workspace / MODEL)
                await to_its_end(self._disk.publish, key, head.version, workspace, head.size_bytes)
                return head.size_bytes
            archive = workspace / PACKED
            with story.step(WaitStep.DOWNLOAD):
                await self._store.get(key, head, archive)
            with story.step(WaitStep.UNPACK):
                return await self._measured(story, self._unpack, key, head, archive, workspace)
        finally:
            await to_its_end(self._disk.discard, workspace)

    async def _measured(self, story: LoadStory, unpack: Callable[..., int], *arguments: object) -> int:
        size_bytes: int
        size_bytes, story.efforts[WaitStep.UNPACK] = await to_its_end(measured, unpack, *arguments)
        return size_bytes

    def _unpack_in_place(self, key: str, head: ArtifactHead, file: Path) -> int:
        """All in one go: to hand work from thread to thread costs about as much as to unpack a small model."""
        workspace = self._disk.workspace()
        try:
            return self._unpack(key, head, file, workspace)
        finally:
            self._disk.discard(workspace)

    def _unpack(self, key: str, head: ArtifactHead, archive: Path, workspace: Path) -> int:
        unpacked = unpack(archive, workspace / MODEL, self._limits, key)
        self._disk.publish(key, head.version, workspace, unpacked.size_bytes)
        return unpacked.size_bytes

    async def _prove(self, name: str) -> None:
        """What is doubted while S3 is asked stays doubted."""
        doubted = name in self._unproved
        self._unproved.discard(name)
        if not doubted and not self._revalidate:
            return
        try:
            await self._drop_if_stale(name)
        except BaseException:
            if doubted:
                self._unproved.add(name)
            raise

    async def _drop_if_stale(self, name: str) -> None:
        key = self._prefix.key_of(name)
        entry = self._disk.find(key)
        if entry is not None and (await self._head(name)).version != entry.version:
            await self.drop(name, "the object in S3 is newer")

    async def _drop_if_gone(self, name: str) -> None:
        """Somebody else may tidy up on this disk."""
        entry = self._disk.find(self._prefix.key_of(name))
        if entry is not None and not entry.directory.is_dir():
            await self.drop(name, "its folder is gone")

    async def _remove(self, name: str) -> None:
        await asyncio.to_thread(self._disk.remove, self._prefix.key_of(name))
