"""Artifacts that lie on this machine, read in place: a bucket is a folder, and a key is a path in it."""

import os
import shutil
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from torpor_container.artifacts.errors import ArtifactForbidden, ArtifactMissing, DownloadBroken, disk_full_for
from torpor_container.artifacts.object_keys import RESERVED, aside, local_version, ordinary
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, ArtifactStore, Listed
from torpor_container.processes.threads import on_thread, run_to_completion


@dataclass(frozen=True)
class FolderArtifactStore:
    """`root/<bucket>/<key>`, and for whatever is not a plain file there, the other store (if there is one)."""

    root: Path
    bucket: str = ""
    otherwise: ArtifactStore | None = None
    copy: Callable[[Path, Path], object] = shutil.copyfile

    async def head(self, key: str) -> ArtifactHead:
        head = await on_thread(self._local_head, key)
        if head is not None:
            return head
        if self.otherwise is not None:
            return await self.otherwise.head(key)
        raise ArtifactMissing(self._named, key)

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        path = await on_thread(self.local_path, key)
        if path is not None:
            await run_to_completion(self._copy, key, head, path, into)
        elif self.otherwise is not None:
            await self.otherwise.get(key, head, into)
        else:
            raise ArtifactMissing(self._named, key)

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        """The embedded store's own list is asked for: it knows what lies aside, too."""
        if self.otherwise is not None:
            return await self.otherwise.listed(prefix, at_most)
        found = await on_thread(lambda: sorted(key for key in self._keys("") if key.startswith(prefix)))
        heads = [(key, await self.head(key)) for key in found[: at_most + 1]]
        return [Listed(key, head.size_bytes, head.version) for key, head in heads]

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        """Those of files in place."""
        return await on_thread(lambda: list(islice(self._keys(folder), at_most)))

    def local_path(self, key: str) -> Path | None:
        """The key's own file: a regular one, and no link that leads out of the bucket.

        The object of a key that is no plain path lies aside, and only in the embedded object store.
        """
        if not ordinary(key):
            if self.otherwise is None:
                return None
            key = aside(key)
        path = self._real_path(key)
        return None if path is None else Path(path)

    def _real_path(self, key: str) -> str | None:
        try:
            root, folder = _real(f"{self.root}"), _real(f"{self.root}/{self.bucket}")
            path = _real(f"{folder}/{key}", stat.S_ISREG)
        except OSError:  # not there, a file where a folder should be, or links in a circle
            return None
        return path if _within(path, folder) and (folder == root or _within(folder, root)) else None

    @property
    def _named(self) -> str:
        return self.bucket or str(self.root)

    def _keys(self, folder: str) -> Iterator[str]:
        """The keys of files in place below a folder (empty, or with a slash at its end), in no order."""
        folders = deque([folder] if not folder or ordinary(folder[:-1]) else [])
        while folders:
            above = folders.popleft()
            with suppress(OSError), os.scandir(self.root / self.bucket / above) as entries:
                for entry in entries:
                    key = above + entry.name
                    if entry.is_dir(follow_symlinks=False) and key != RESERVED:
                        folders.append(f"{key}/")
                    elif entry.is_file() and ordinary(key):
                        yield key

    def _local_head(self, key: str) -> ArtifactHead | None:
        path = self.local_path(key)
        if path is None:
            return None
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError as error:
            raise ArtifactForbidden(self._named, key) from error
        except FileNotFoundError:
            return None
        found = os.fstat(file)
        os.close(file)
        return ArtifactHead(found.st_size, local_version(found.st_mtime_ns, found.st_size, found.st_ino), path)

    def _copy(self, key: str, head: ArtifactHead, path: Path, into: Path) -> None:
        partial = into.with_name(into.name + ".part")
        try:
            with disk_full_for(key):
                self.copy(path, partial)
            if self._local_head(key) != head:
                raise DownloadBroken(self._named, key, "it was overwritten while it was read")
            partial.replace(into)
        finally:
            partial.unlink(missing_ok=True)


def _real(path: str, is_kind: Callable[[int], bool] = stat.S_ISDIR) -> str:
    """The path without links, as the kernel finds it: a few calls of it take a tenth of a walk over all parts. Raises
    OSError, also for a file of another kind."""
    found = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not is_kind(os.fstat(found).st_mode):
            raise FileNotFoundError(path)
        return os.readlink(f"/proc/self/fd/{found}")
    finally:
        os.close(found)


def _within(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


@dataclass(frozen=True, kw_only=True)
class PermittedFolderStore(FolderArtifactStore):
    """A folder whose objects an execution role may read or not: `check` raises ArtifactForbidden, and may block, for a
    bucket and a key. What it lets through is read in place."""

    check: Callable[[str, str], None]

    async def head(self, key: str) -> ArtifactHead:
        await on_thread(self.check, self.bucket, key)
        return await super().head(key)

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        """None: a role need not be allowed to list."""
        return []
