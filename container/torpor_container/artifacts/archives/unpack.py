"""Unpacks an untrusted artifact to a folder: it writes nothing outside the folder, and every size has a limit.

An artifact is a gzipped tar, a plain tar, or one bare model file, which joblib may have compressed by gzip. Their
first bytes decide; a name that ends as an archive's says that nothing else may stand there. All links are refused,
since a link can make a path lead elsewhere. Modes, owners and times are dropped. A name that comes twice is refused.
For worker threads: it blocks.
"""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO, NamedTuple

from torpor_container.artifacts.archives.decompression import (
    GZIP_MAGIC,
    Bounded,
    Digested,
    Gunzip,
    Readable,
    Refused,
)
from torpor_container.artifacts.archives.tar import BLOCK, TarMember, is_header, members
from torpor_container.artifacts.errors import ArtifactInvalid, disk_full_for
from torpor_container.artifacts.seals import Seal, SealedFile, mark_of
from torpor_container.formats.contents import packed_as
from torpor_container.frozen_class import frozen
from torpor_container.settings import DEFAULTS

COPY_BYTES = 64 * 1024
"""What is unpacked at a time: it is hashed and written while the processor's caches have it, in memory that is used
again."""
ARCHIVE_SUFFIXES = (".tar.gz", ".tgz", ".tar", ".zip", ".7z", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst")
RATIO_FLOOR_BYTES = 16 * 1024 * 1024
"""An archive that unpacks to less than this is never refused as a bomb, however well it is compressed."""


@frozen
class UnpackLimits:
    """How far an artifact may expand."""

    bytes_max: int = DEFAULTS.unpack_max_bytes
    ratio_max: float = DEFAULTS.unpack_max_ratio
    entries_max: int = DEFAULTS.unpack_max_entries
    path_bytes_max: int = 1024
    depth_max: int = 32


class Unpacked(NamedTuple):
    """What was unpacked: the seal of the folder, and the SHA-256 of the artifact's own bytes, in hex."""

    seal: Seal
    digest: str


def unpack(archive: Path, into: Path, limits: UnpackLimits, name: str) -> Unpacked:
    """Unpack `archive` into the new folder `into`; `name` is its object's key. All digests are taken as the bytes are
    read and the files are written. Raises ArtifactInvalid and DiskFull.

    After an error the caller removes the folder, with what was written.
    """
    try:
        with disk_full_for(name), open(archive, "rb") as file:
            before = os.fstat(file.fileno())
            into.mkdir()
            unpacked = _unpack_any(file, before.st_size, _Folder(into, limits), name)
            if _moved_on(before, os.fstat(file.fileno())):
                raise Refused("it changed while it was read")
    except Refused as refused:
        raise ArtifactInvalid(name, str(refused)) from refused
    return unpacked


def _unpack_any(file: BinaryIO, packed_bytes: int, folder: "_Folder", name: str) -> Unpacked:
    first = file.read(BLOCK)
    file.seek(0)
    if not first:
        raise Refused("it is empty")
    source = Digested(file)
    if first.startswith(GZIP_MAGIC) and not _is_gzipped_file(file, name):
        return Unpacked(_unpack_tar(Gunzip(source), packed_bytes, folder), source.digest)
    if is_header(first):
        return Unpacked(_unpack_tar(source, packed_bytes, folder), source.digest)
    if _is_named_archive(name):
        if packed := packed_as(first):
            raise Refused(f"it is {packed}, and not a gzipped tar archive, which `tar -czf` makes")
        raise Refused("it is neither a gzip file nor a tar archive, though its name says so")
    seal = folder.write_bare(name.rpartition("/")[2], file, packed_bytes)
    return Unpacked(seal, seal.sums)


def _is_named_archive(name: str) -> bool:
    return name.endswith(ARCHIVE_SUFFIXES)


def _is_gzipped_file(file: BinaryIO, name: str) -> bool:
    """Whether gzip has compressed a single file, and no tar archive. The file is read from its beginning again."""
    if _is_named_archive(name):
        return False
    try:
        head = Bounded(Gunzip(file), BLOCK, "").exactly(BLOCK)
    except Refused:
        return False  # what is damaged is told as it is unpacked
    finally:
        file.seek(0)
    return not is_header(head)


def _unpack_tar(source: Readable, packed_bytes: int, folder: "_Folder") -> Seal:
    stream = _bounded(source, packed_bytes, folder.limits)
    for member in members(stream):
        folder.add(member, stream)
    if not folder.files:
        raise Refused("it holds no file")
    return Seal(folder.files)


def _bounded(source: Readable, packed_bytes: int, limits: UnpackLimits) -> Bounded:
    by_ratio = max(int(packed_bytes * limits.ratio_max), RATIO_FLOOR_BYTES)
    if by_ratio < limits.bytes_max:
        return Bounded(source, by_ratio, f"it expands more than {limits.ratio_max:g} times")
    return Bounded(source, limits.bytes_max, f"it expands to more than {limits.bytes_max} bytes")


class _Folder:
    """The folder being filled. Only it writes, and only below its own path."""

    def __init__(self, path: Path, limits: UnpackLimits) -> None:
        self.limits = limits
        self.files: dict[str, SealedFile] = {}
        self._path = str(path)
        self._entries = 0
        self._made = {""}

    def add(self, member: TarMember, content: Readable) -> None:
        self._entries += 1
        if self._entries > self.limits.entries_max:
            raise Refused(f"it holds more than {self.limits.entries_max} files and folders")
        if member.is_folder and not member.path.strip("/"):
            return  # the archive's own root: the SageMaker SDK packs a "/" when it puts code into an artifact
        parts = _parts(member.path, self.limits)
        if member.is_folder:
            self._make("/".join(parts))
        elif parts:
            self._make("/".join(parts[:-1]))
            self._write("/".join(parts), content, member.size_bytes)
        else:
            raise Refused("a file has no name")

    def write_bare(self, name: str, file: BinaryIO, size_bytes: int) -> Seal:
        if size_bytes > self.limits.bytes_max:
            raise Refused(f"it is larger than {self.limits.bytes_max} bytes")
        if not _parts(name, self.limits):
            raise Refused("its key ends in no file name")
        self._write(name, file, size_bytes)
        return Seal(self.files)

    def _make(self, folder: str) -> None:
        if folder in self._made:
            return
        self._make(folder.rpartition("/")[0])
        try:
            os.mkdir(f"{self._path}/{folder}", 0o755)
        except FileExistsError:
            raise Refused(f"{folder!r} is both a file and a folder") from None
        self._made.add(folder)

    def _write(self, path: str, content: Readable, size_bytes: int) -> None:
        try:
            file = os.open(f"{self._path}/{path}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        except FileExistsError:
            raise Refused(f"{path!r} comes twice") from None
        try:
            self.files[path] = SealedFile(_copy(content, file, size_bytes), mark_of(file))
        finally:
            os.close(file)


def _copy(content: Readable, file: int, size_bytes: int) -> str:
    """Write so many bytes to an open file. Their digest."""
    digest = hashlib.sha256()
    while size_bytes:
        piece = content.read(min(size_bytes, COPY_BYTES))
        if not piece:
            raise Refused("it ends in the middle of a file")
        size_bytes -= len(piece)
        digest.update(piece)
        while piece:
            piece = piece[os.write(file, piece) :]
    return digest.hexdigest()


def _parts(path: str, limits: UnpackLimits) -> list[str]:
    """The path's segments, `.` and empty ones left out. Refuses every path that might lead elsewhere."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/"):
        raise Refused(f"{path[:200]!r} is an absolute path")
    if ".." in parts:
        raise Refused(f"{path[:200]!r} leads out of the archive")
    if "\0" in path:
        raise Refused(f"{path[:200]!r} is no file name")
    if len(parts) > limits.depth_max or len(os.fsencode(path)) > limits.path_bytes_max:
        raise Refused(f"{path[:200]!r}... is too long or too deep")
    if any(len(os.fsencode(part)) > 255 for part in parts):
        raise Refused(f"{path[:200]!r}... has a name of more than 255 bytes")
    return parts


def _moved_on(before: os.stat_result, after: os.stat_result) -> bool:
    return (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
