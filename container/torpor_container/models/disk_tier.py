"""The disk tier: fetches and unpacks each artifact once, keeps it for the next load, and removes it to make room."""

import asyncio
from collections.abc import Callable, MutableMapping
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from torpor_container.artifacts.archives.unpack import UnpackLimits, unpack
from torpor_container.artifacts.digests import plain
from torpor_container.artifacts.errors import ArtifactMissing
from torpor_container.artifacts.location import Prefix, name_of
from torpor_container.artifacts.loose import LooseFiles
from torpor_container.artifacts.seals import Seal
from torpor_container.artifacts.similar_names import SimilarNames
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, ArtifactStore
from torpor_container.artifacts.unpacked import MODEL, PACKED, UnpackedArtifact, UnpackedArtifacts
from torpor_container.core.residency import Hit, Residency
from torpor_container.core.versions.copy_names import model_of, other_copy
from torpor_container.measuring.effort import measured
from torpor_container.measuring.load_meter import Meter
from torpor_container.measuring.server_timing import LoadSpans
from torpor_container.models.loader import Placed
from torpor_container.models.tier import MakeRoom, Tier
from torpor_container.processes.threads import on_thread, run_to_completion
from torpor_container.wire import FetchedFrom, WaitStep

UNPACKED_RATIO = 3
"""How many bytes an artifact is expected to take on disk for each byte in S3, until it is unpacked and measured."""


class Newest(NamedTuple):
    """The id of the version in S3, as it is or would be on disk. `local`: S3 is a folder on this machine's disk."""

    model_id: str
    local: bool


class Places:
    """Where the copies of models are that lie below a prefix."""

    def __init__(self, prefix: Prefix) -> None:
        self._prefix = prefix

    def in_store(self, name: str) -> str:
        """The key of the object in S3. Both copies of a model are of one object."""
        return self._prefix.key_of(model_of(name))

    def on_disk(self, name: str) -> str:
        """The key of the folder on disk. Each copy of a model has its own."""
        key = self.in_store(name)
        return key if name == model_of(name) else other_copy(key)


class DiskTier:
    """Gives out folders of unpacked artifacts. The keeper makes one call for each name at a time."""

    def __init__(
        self,
        prefix: Prefix,
        store: ArtifactStore,
        disk: UnpackedArtifacts,
        residency: Residency,
        limits: UnpackLimits,
        clock: Callable[[], float],
        revalidate: bool = False,
        meter: Meter | None = None,
        loose: LooseFiles | None = None,
        look: Callable[[Placed], object] = lambda placed: None,
    ) -> None:
        """`meter` is the meter of the models in this process: to fetch and unpack takes memory too. `loose` fetches
        models that are not archives. `look` looks into each folder that is given out, for its loader, on the thread
        that has just unpacked or checked it: a switch of threads costs about as much as to unpack a small model."""
        self._prefix = prefix
        self._places = Places(prefix)
        self._store = store
        self._disk = disk
        self._tier = Tier(residency, clock, self._remove)
        self._limits = limits
        self._revalidate = revalidate
        self._meter = meter or Meter()
        self._loose = loose
        self._look = look
        self.origins: MutableMapping[str, FetchedFrom] = {}  # of artifacts just fetched, by key, where the store tells
        self._similar = SimilarNames(prefix, store, clock)
        self._doubted: set[str] = set()  # S3 may have a newer version: ask before the folder is used
        self._pardoned: set[str] = set()  # a quarantined version is tried again

    async def take(self, name: str, spans: LoadSpans, make_room: MakeRoom | None = None) -> Placed:
        """Pin the folder of this model until `give`, and fetch it if it is not on disk. The tier calls `make_room` when
        too many folders are pinned. Raises the artifact errors and NoRoom."""
        await self._revalidate_if_doubted(name)
        placed = await self._placed_on_disk(name)
        if not isinstance(await self._tier.requested(name), Hit):
            with self._tier.loading(name):
                placed = await self._fetch(name, spans, make_room)
            self._tier.changed()  # one download fewer is in flight
            self._tier.dismiss(self._tier.residency.evict_excess(name, self._tier.clock()))
        self._pardoned.discard(name)
        return placed or self._placed(name, self._artifact(name))

    def doubt(self, name: str) -> None:
        """Ask S3 for a newer version before the folder is taken again."""
        if self._tier.residency.get(name) is not None:  # else the next load fetches it anyway
            self._doubted.add(name)

    def pardon(self, name: str) -> None:
        """End the quarantine of the version that is taken next."""
        self._pardoned.add(name)

    async def newest(self, name: str) -> Newest:
        """The version that S3 has now. Raises the artifact errors."""
        head = await self._head(name)
        return Newest(self._disk.id_of(self._places.on_disk(name), head.version), head.file is not None)

    def give(self, name: str) -> None:
        """End a pin. The folder stays on disk for the next load."""
        self._tier.released(name)

    def size_of(self, name: str) -> int:
        """The bytes of a folder that is on disk; 0 for one that is not."""
        return self._artifact(name).size_bytes if name in self._tier.residency else 0

    def changed(self) -> None:
        """Wake callers that wait for room: a folder in use may be free to leave now."""
        self._tier.changed()

    async def drop(self, name: str, reason: str) -> None:
        """Remove a folder that no caller uses."""
        if self._tier.residency.drop(name, reason, self._tier.clock()):
            await self._tier.dismiss((name,))

    async def restore(self) -> None:
        """Take over what an earlier process left on disk: the newest folders that fit. The rest is removed."""
        room_bytes = self._tier.residency.budget_bytes
        fitting: list[tuple[str, UnpackedArtifact]] = []
        for artifact in reversed(await on_thread(self._disk.scan)):
            name = self._prefix.name_of_key(artifact.key)
            if name is not None and name == model_of(name) and artifact.size_bytes <= room_bytes:
                room_bytes -= artifact.size_bytes
                fitting.append((name, artifact))
            else:
                await on_thread(self._disk.remove, artifact.key)
        for name, artifact in reversed(fitting):
            self._tier.residency.found(name, artifact.size_bytes, self._tier.clock())
            self._doubted.add(name)

    async def close(self) -> None:
        await self._tier.close()

    @property
    def excess_bytes(self) -> int:
        """What is on disk beyond the budget: an artifact may take more than was predicted."""
        return self._tier.residency.planned_bytes - self._tier.residency.budget_bytes

    def shrink(self) -> None:
        """Remove folders that no caller uses until the tier is within its budget."""
        tier = self._tier
        tier.dismiss(tier.residency.evict_over_budget("another artifact takes its room", tier.clock()))

    @property
    def used_bytes(self) -> int:
        return self._tier.residency.planned_bytes

    def name_of(self, target: str) -> str:
        """The model's one name, however the request spells it. Raises TargetForbidden."""
        name = name_of(target)
        self._prefix.key_of(name)
        return name

    # -- inside ----------------------------------------------------------------------------------------------------
    def _artifact(self, name: str) -> UnpackedArtifact:
        artifact = self._disk.find(self._places.on_disk(name))
        assert artifact is not None, "the residency says that it is on disk"
        return artifact

    def _placed(self, name: str, artifact: UnpackedArtifact) -> Placed:
        """What is given out. It looks into the folder, and may block."""
        seal, pardoned = artifact.seal, name in self._pardoned
        known = (
            *(name, artifact.model_id, artifact.directory, plain(artifact.version), seal.content),
            *(seal.size_bytes, pardoned, artifact.digest),
        )
        return Placed(*known, self._look(Placed(*known)))

    async def _fetch(self, name: str, spans: LoadSpans, make_room: MakeRoom | None) -> Placed:
        began_s = self._tier.clock()
        with spans.step(WaitStep.DOWNLOAD):
            head = await self._head(name)
        spans.fetched_bytes = head.size_bytes
        await self._tier.admitted(name, self._predicted_bytes(head), make_room)
        with self._meter.window():
            placed = await self._download(name, head, spans)
        now_s = self._tier.clock()
        note = spans.came_from(self.origins.pop(self._places.in_store(name), None))
        self._tier.residency.loaded(name, placed.disk_bytes or 0, now_s - began_s, now_s, note)
        return placed

    async def _head(self, name: str) -> ArtifactHead:
        """What S3 says of the object. ArtifactMissing names the objects with similar names."""
        key = self._places.in_store(name)
        try:
            return await (self._loose.head(key) if self._loose is not None else self._store.head(key))
        except ArtifactMissing as missing:
            similar = await self._similar.near(model_of(name))
            raise ArtifactMissing(missing.bucket, missing.key, similar) from missing

    def _predicted_bytes(self, head: ArtifactHead) -> int:
        """At most the whole budget: the guess must not refuse an artifact unless its bytes in S3 exceed the disk."""
        budget_bytes = self._tier.residency.budget_bytes
        return max(head.size_bytes, min(head.size_bytes * UNPACKED_RATIO, budget_bytes))

    async def _download(self, name: str, head: ArtifactHead, spans: LoadSpans) -> Placed:
        key = self._places.on_disk(name)
        try:
            if head.file is not None:
                with (
                    suppress(FileNotFoundError),
                    spans.step(WaitStep.UNPACK),
                ):  # the file may be deleted now
                    return await self._measured(spans, self._unpack_in_place, name, head, head.file)
            return await self._download_through(await on_thread(self._disk.workspace), name, head, spans)
        except asyncio.CancelledError:
            await run_to_completion(self._disk.remove, key)  # it may be published already
            raise

    async def _download_through(self, workspace: Path, name: str, head: ArtifactHead, spans: LoadSpans) -> Placed:
        """Download into a folder that is removed unless it was published."""
        key = self._places.in_store(name)
        async with AsyncExitStack() as unless_published:
            unless_published.push_async_callback(run_to_completion, self._disk.discard, workspace)
            if self._loose is not None:
                with spans.step(WaitStep.DOWNLOAD):
                    await self._loose.gather(key, head, workspace / MODEL)
                placed = await run_to_completion(self._publish_loose, name, head, workspace)
            else:
                archive = workspace / PACKED
                with spans.step(WaitStep.DOWNLOAD):
                    await self._store.get(key, head, archive)
                with spans.step(WaitStep.UNPACK):
                    placed = await self._measured(spans, self._unpack, name, head, archive, workspace)
            unless_published.pop_all()
        return placed

    async def _measured(self, spans: LoadSpans, unpack: Callable[..., Placed], *arguments: object) -> Placed:
        placed: Placed
        placed, spans.efforts[WaitStep.UNPACK] = await run_to_completion(measured, unpack, *arguments)
        return placed

    # -- on a thread -----------------------------------------------------------------------------------------------
    def _unpack_in_place(self, name: str, head: ArtifactHead, file: Path) -> Placed:
        workspace = self._disk.workspace()
        with ExitStack() as unless_published:
            unless_published.callback(self._disk.discard, workspace)
            placed = self._unpack(name, head, file, workspace)
            unless_published.pop_all()
        return placed

    def _unpack(self, name: str, head: ArtifactHead, archive: Path, workspace: Path) -> Placed:
        unpacked = unpack(archive, workspace / MODEL, self._limits, self._places.in_store(name))
        return self._publish(name, head, workspace, *unpacked)

    def _publish_loose(self, name: str, head: ArtifactHead, workspace: Path) -> Placed:
        return self._publish(name, head, workspace, (seal := Seal.of(workspace / MODEL)), seal.sums)

    def _publish(self, name: str, head: ArtifactHead, workspace: Path, seal: Seal, digest: str) -> Placed:
        return self._placed(name, self._disk.publish(self._places.on_disk(name), head.version, workspace, seal, digest))

    def _checked(self, name: str, artifact: UnpackedArtifact) -> tuple[str | None, Placed | None]:
        """Why the folder may not be read; if it may, what is given out."""
        fault = self._disk.fault(artifact)
        return fault, self._placed(name, artifact) if fault is None else None

    # -- what is on disk -------------------------------------------------------------------------------------------
    async def _revalidate_if_doubted(self, name: str) -> None:
        """Drop the folder if S3 has a newer version. A doubt that is raised meanwhile stays."""
        doubted = name in self._doubted
        self._doubted.discard(name)
        if not doubted and not self._revalidate:
            return
        with ExitStack() as unless_known:
            if doubted:
                unless_known.callback(self._doubted.add, name)
            await self._drop_if_stale(name)
            unless_known.pop_all()

    async def _drop_if_stale(self, name: str) -> None:
        artifact = self._disk.find(self._places.on_disk(name))
        if artifact is not None and (await self._head(name)).version != artifact.version:
            await self.drop(name, "the object in S3 is newer")

    async def _placed_on_disk(self, name: str) -> Placed | None:
        """What is on disk, if nobody touched it: other programs, and code of models that no box holds, may change or
        remove files there."""
        artifact = self._disk.find(self._places.on_disk(name))
        if artifact is None:
            return None
        fault, placed = await on_thread(self._checked, name, artifact)
        if fault is not None:
            await self.drop(name, fault)
        return placed

    async def _remove(self, name: str) -> None:
        await on_thread(self._disk.remove, self._places.on_disk(name))
