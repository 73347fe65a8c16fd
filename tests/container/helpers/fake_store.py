"""An S3 bucket that is a dictionary, and a disk tier over it."""

import asyncio
import io
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from torpor_container.artifacts.archives.unpack import UnpackLimits
from torpor_container.artifacts.errors import ArtifactMissing
from torpor_container.artifacts.location import Prefix
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, Listed
from torpor_container.artifacts.unpacked import UnpackedArtifacts
from torpor_container.core.eviction import LRU
from torpor_container.core.residency import Residency
from torpor_container.measuring.load_meter import Meter
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.loader import Placed

LIMITS = UnpackLimits(1_000_000, 100.0, 10)


class FakeStore:
    """A bucket in memory: content by key, every read counted, and a gate before each download."""

    def __init__(self, **objects: bytes) -> None:
        self.objects = objects
        self.gate = asyncio.Event()
        self.gate.set()
        self.reads: Counter[str] = Counter()
        self.files: dict[str, Path] = {}
        self.pack: Callable[[bytes], bytes] = tar

    async def head(self, key: str) -> ArtifactHead:
        if key not in self.objects:
            raise ArtifactMissing("bucket", key)
        return ArtifactHead(len(self.pack(self.objects[key])), str(hash(self.objects[key])), self.files.get(key))

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        self.reads[key] += 1
        await self.gate.wait()
        into.write_bytes(self.pack(self.objects[key]))  # noqa: ASYNC240  it is a test's own small file

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        keys = sorted(key for key in self.objects if key.startswith(prefix))
        return [Listed(key, len(self.objects[key]), str(hash(self.objects[key]))) for key in keys[: at_most + 1]]

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        return [key for key in self.objects if key.startswith(folder)][:at_most]

    def lay(self, key: str, file: Path) -> None:
        """Puts the object into a local file too, which can be read in place."""
        file.write_bytes(tar(self.objects[key]))
        self.files[key] = file


def tar(content: bytes) -> bytes:
    header, buffer = tarfile.TarInfo("model.bin"), io.BytesIO()
    header.size = len(content)
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(header, io.BytesIO(content))
    return buffer.getvalue()


def disk_tier(
    root: Path,
    store: FakeStore,
    budget_bytes: int = 10_000_000,
    path: str = "",
    revalidate: bool = False,
    disk: UnpackedArtifacts | None = None,
    meter: Meter | None = None,
    look: Callable[[Placed], object] = lambda placed: None,
) -> DiskTier:
    tier = disk or UnpackedArtifacts(root, budget_bytes, "bucket")
    books = Residency(budget_bytes, LRU(), loads_max=4)
    clock = asyncio.get_running_loop().time
    return DiskTier(Prefix("s3", "bucket", path), store, tier, books, LIMITS, clock, revalidate, meter, look=look)
