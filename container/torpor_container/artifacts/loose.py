"""Downloads a model that S3 has as plain files: one object, or all objects below a prefix. It unpacks nothing.

AWS, S3ModelDataSource with CompressionType None: "for each S3 object under the key name prefix referenced by S3Uri,
SageMaker will trim its key by the prefix, and use the remainder as the path (relative to /opt/ml/model)"; of one object
it uses "the last part as the filename". What AWS forbids in such a path is refused here with the key's name.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from torpor_container.artifacts.archives.unpack import UnpackLimits
from torpor_container.artifacts.errors import ArtifactInvalid, ArtifactMissing, DownloadBroken
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, ArtifactStore, Listed
from torpor_container.frozen_class import frozen
from torpor_container.processes.threads import on_thread

PARALLEL_COPIES = 8
SEGMENT_MAX_BYTES = 255
REMEDY = "Keep only the files of the model below the prefix, under names that files can have"

# AWS: "Do not use any of the following as file names or directory names: an empty or blank string, a string which
# contains null bytes, a string longer than 255 bytes, a single dot (.), a double dot (..)".
SEGMENT_RULES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("an empty or blank name", lambda segment: not segment.strip()),
    ("a null byte in a name", lambda segment: "\0" in segment),
    ("a name longer than 255 bytes", lambda segment: len(segment.encode(errors="surrogatepass")) > SEGMENT_MAX_BYTES),
    ("a '.' or '..' name", lambda segment: segment in (".", "..")),
)


@frozen
class LooseFiles:
    """The files of the models of one bucket. A key that ends with a slash is a prefix, any other is one object."""

    store: ArtifactStore
    bucket: str
    limits: UnpackLimits

    async def head(self, key: str) -> ArtifactHead:
        """All files as one artifact: the sum of their bytes, and a version that changes whenever a file does.

        Raises as `ArtifactStore.head` does, and ArtifactInvalid where the objects cannot be files.
        """
        found = await self._objects(key)
        return ArtifactHead(sum(one.size_bytes for one in found), _version(found))

    async def gather(self, key: str, head: ArtifactHead, into: Path) -> None:
        """Copy exactly the files that `head` saw into the new folder `into`.

        Raises as `head` does, DownloadBroken if they change meanwhile, and DiskFull.
        """
        found = await self._objects(key)
        places = asyncio.Semaphore(PARALLEL_COPIES)

        async def copy(one: Listed) -> None:
            place = into / _path(key, one.key)
            async with places:
                await on_thread(partial(place.parent.mkdir, parents=True, exist_ok=True))
                await self.store.get(one.key, await self.store.head(one.key), place)

        await on_thread(into.mkdir)
        try:
            async with asyncio.TaskGroup() as copying:
                for one in found:
                    copying.create_task(copy(one))
        except ExceptionGroup as errors:  # one of them is enough to report
            raise errors.exceptions[0] from errors
        if head.version != _version(found) or head.version != (await self.head(key)).version:
            raise DownloadBroken(self.bucket, key, "it was overwritten while it was read")

    async def _objects(self, key: str) -> list[Listed]:
        if not key.endswith("/"):
            head = await self.store.head(key)
            found = [Listed(key, head.size_bytes, head.version)]
        else:
            found = await self.store.listed(key, self.limits.entries_max)
        if not found:
            raise ArtifactMissing(self.bucket, key)
        if fault := _fault(key, found, self.limits):
            raise ArtifactInvalid(key, fault, REMEDY)
        return found


def _path(prefix: str, key: str) -> str:
    """The path of one object below the prefix, or of the object itself."""
    return key.removeprefix(prefix) if prefix.endswith("/") else key.rpartition("/")[2]


def _version(found: Sequence[Listed]) -> str:
    versions = "\0".join(f"{one.key}\0{one.version}" for one in sorted(found, key=lambda one: one.key))
    return hashlib.sha256(versions.encode(errors="surrogatepass")).hexdigest()


def _fault(prefix: str, found: Sequence[Listed], limits: UnpackLimits) -> str | None:
    """Why these objects cannot be a folder of files; None if they can."""
    if len(found) > limits.entries_max:
        return f"it has more than {limits.entries_max} objects"
    if sum(one.size_bytes for one in found) > limits.bytes_max:
        return f"its objects are larger than {limits.bytes_max} bytes together"
    files = {_path(prefix, one.key): one.key for one in found}
    for path, key in files.items():
        segments = path.split("/")
        for rule, breaks in SEGMENT_RULES:
            if any(map(breaks, segments)):
                return f"the object {key!r} cannot be a file of the model: its path has {rule}"
        if len(segments) > limits.depth_max:
            return f"the object {key!r} lies more than {limits.depth_max} folders deep"
    # "Ambiguous file names will result in model deployment failure."
    folders = {path[:at] for path in files for at, char in enumerate(path) if char == "/"}
    if both := sorted(folders & files.keys()):
        return f"the object {files[both[0]]!r} is a file, and other objects need it to be a folder"
    return None
