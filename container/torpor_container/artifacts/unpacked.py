"""Unpacked artifacts on disk, at `<root>/<model id>/model`, each whole and sealed, or not there.

It never decides which one leaves.

One process owns a root. Methods block. Several threads may call them at the same time, but only one for each key. A
folder appears by one rename, finished, and is valid while it has its record: a removal starts with the record.
"""

import errno
import json
import os
import re
import shutil
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from torpor_container.artifacts.errors import DiskFull, DiskTooSmall, disk_full_for
from torpor_container.artifacts.location import artifact_id
from torpor_container.artifacts.seals import BrokenSeal, Seal, SealedFile
from torpor_container.frozen_class import frozen
from torpor_container.typed_json import read, written

PACKED = "artifact"
MODEL = "model"
"""Names in a workspace: of the downloaded file, and of the folder that it is unpacked to."""

_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
_UNFINISHED = ".unfinished"
_RECORD = "artifact.json"
_MODEL_ID = re.compile("[0-9a-f]{32}")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class UnpackedArtifact:
    """One version of one object, unpacked below the root. There are thousands, and a Path takes half a kilobyte.

    `digest` is the SHA-256 of the object's bytes, in hex; empty where an earlier version of Torpor unpacked it.
    """

    key: str
    version: str
    model_id: str
    root: str
    size_bytes: int
    seal: Seal
    digest: str = ""

    @property
    def directory(self) -> Path:
        return Path(f"{self.root}/{self.model_id}/{MODEL}")


@frozen
class FolderRecord:
    """What the record beside an unpacked folder says. `boot` is the machine's boot in which it was written."""

    bucket: str
    key: str
    version: str
    size_bytes: int
    files: Mapping[str, SealedFile]
    boot: str
    digest: str = ""


class UnpackedArtifacts:
    """The artifacts of one bucket that are on disk."""

    def __init__(self, root: Path, budget_bytes: int, bucket: str = "") -> None:
        self.budget_bytes = budget_bytes
        self._root = root
        self._below = str(root)
        self._bucket = bucket
        self._entries: dict[str, UnpackedArtifact] = {}
        self._aside: set[Path] = set()  # workspaces with folders that could not be removed
        self._numbers = count()
        self._lock = threading.Lock()

    def scan(self) -> list[UnpackedArtifact]:
        """Read the artifacts that an earlier process left, the oldest first, and remove what it did not finish."""
        self._root.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._root / _UNFINISHED, ignore_errors=True)
        ours = [folder for folder in self._root.iterdir() if _MODEL_ID.fullmatch(folder.name)]
        for folder in sorted(ours, key=_written_ns):
            if (entry := self._read(folder)) is None or entry.key in self._entries:
                self._erase(folder)
            else:
                self._entries[entry.key] = entry
        return self.entries()

    def entries(self) -> list[UnpackedArtifact]:
        with self._lock:
            return list(self._entries.values())

    def find(self, key: str) -> UnpackedArtifact | None:
        """The version of this key that is on disk, which need not be the newest in S3."""
        with self._lock:
            return self._entries.get(key)

    def fault(self, artifact: UnpackedArtifact) -> str | None:
        """Why a load may not read the folder of this artifact; None if it is as it was unpacked."""
        try:
            artifact.seal.check(artifact.directory)
        except BrokenSeal as broken:
            return f"its files are not those that were unpacked: {broken}"
        except OSError as error:
            return f"its folder cannot be read: {error}"
        return None

    def id_of(self, key: str, version: str) -> str:
        """The model id of this version of this key, whether it is here or not."""
        return artifact_id(self._bucket, key, version)

    @property
    def used_bytes(self) -> int:
        return sum(entry.size_bytes for entry in self.entries())

    # -- one artifact's way in and out -----------------------------------------------------------------------------
    def workspace(self) -> Path:
        """A new folder on the same disk, for a download and its unpacking. `publish` or `discard` ends it."""
        with disk_full_for("a workspace"):
            while True:
                workspace = f"{self._root}/{_UNFINISHED}/{next(self._numbers)}"
                try:
                    os.mkdir(workspace)
                    return Path(workspace)
                except FileNotFoundError:
                    os.makedirs(f"{self._root}/{_UNFINISHED}", exist_ok=True)
                except FileExistsError:
                    continue  # an earlier process left it, and it cannot be removed

    def publish(self, key: str, version: str, workspace: Path, seal: Seal, digest: str = "") -> UnpackedArtifact:
        """Turn the workspace into the folder of this key, in place of an older version, without the downloaded file.

        It makes and removes few folders: each takes a tenth of a millisecond when the processor's caches are cold.
        Raises DiskFull if the artifact is over the whole budget.
        """
        size_bytes = seal.size_bytes
        if size_bytes > self.budget_bytes:
            raise DiskTooSmall(key, f"it takes {size_bytes} bytes, and the disk tier has {self.budget_bytes} in all")
        model_id = self.id_of(key, version)
        folder = f"{self._root}/{model_id}"
        entry = UnpackedArtifact(key, version, model_id, self._below, size_bytes, seal, digest)
        self.remove(key)
        with disk_full_for(key):
            with suppress(FileNotFoundError):
                os.unlink(f"{workspace}/{PACKED}")
            with open(f"{workspace}/{_RECORD}", "wb", buffering=0) as record:
                record.write(self._record(entry).encode())
            try:
                os.rename(workspace, folder)
            except OSError as error:
                if error.errno not in _IN_THE_WAY:
                    raise
                self._erase(Path(folder))  # left by an earlier removal
                os.rename(workspace, folder)
        with self._lock:
            self._entries[key] = entry
        if self._aside:
            self._clear()
        return entry

    def discard(self, workspace: Path) -> None:
        """Remove a workspace that was not published, and what is in it."""
        shutil.rmtree(workspace, ignore_errors=True)

    def remove(self, key: str) -> int:
        """Remove an artifact. The bytes that this frees."""
        with self._lock:
            entry = self._entries.pop(key, None)
        if entry is None:
            return 0
        self._erase(entry.directory.parent)
        return entry.size_bytes

    # -- inside ----------------------------------------------------------------------------------------------------
    def _erase(self, folder: Path) -> None:
        (folder / _RECORD).unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            self._set_aside(folder)
        if self._aside:
            self._clear()

    def _set_aside(self, folder: Path) -> None:
        """Move a folder away to which a script still writes, so that the next version can take its path."""
        with suppress(OSError, DiskFull):
            aside = self.workspace()
            with self._lock:
                self._aside.add(aside)
            folder.rename(aside / folder.name)

    def _clear(self) -> None:
        """Remove the folders that were set aside, as far as that is possible now."""
        with self._lock:
            left = tuple(self._aside)
        for aside in left:
            self.discard(aside)
            if not aside.exists():
                with self._lock:
                    self._aside.discard(aside)

    def _record(self, entry: UnpackedArtifact) -> str:
        files, digest = entry.seal.files, entry.digest
        record = FolderRecord(self._bucket, entry.key, entry.version, entry.size_bytes, files, _boot(), digest)
        return json.dumps(written(record))

    def _read(self, folder: Path) -> UnpackedArtifact | None:
        """The artifact as the folder's record describes it; None if the record cannot be trusted.

        Files are not synced one by one, so after a crash of the machine they may be incomplete: a record from before
        the last boot is not valid. The end of a process leaves files complete.
        """
        try:
            record = read(FolderRecord, json.loads((folder / _RECORD).read_text()))
            seal = Seal(record.files)
            size_bytes, digest = record.size_bytes, record.digest
            entry = UnpackedArtifact(record.key, record.version, folder.name, self._below, size_bytes, seal, digest)
            expected = self.id_of(entry.key, entry.version)
            sound = folder.name == expected and record.boot == _boot() and entry.directory.is_dir()
        except (OSError, ValueError):
            return None
        return entry if sound else None


@cache
def _boot() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:  # not Linux
        return ""


def _written_ns(folder: Path) -> int:
    try:
        return (folder / _RECORD).stat().st_mtime_ns
    except OSError:
        return 0
