"""Seals an unpacked artifact: which files it has, the digest of each, and how the disk tells that nobody touched it.

A load reads what was unpacked: a folder whose seal is broken is unpacked again. No content is read as long as a file's
number, size and time of change are the same: whoever changes, replaces or links a file changes the last of them, which
no user can set back. A file whose time alone changed is compared by its digest. Links and further files break a seal.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from torpor_container.frozen_class import frozen

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOLDER = READ | os.O_DIRECTORY
DEPTH_MAX = 64
"""No artifact is unpacked as deep."""
PIECE_BYTES = 1024 * 1024


def digest_of(file: int) -> str:
    """The digest of an open file."""
    digest = hashlib.sha256()
    os.lseek(file, 0, os.SEEK_SET)
    while piece := os.read(file, PIECE_BYTES):
        digest.update(piece)
    return digest.hexdigest()


class BrokenSeal(Exception):
    """The folder is not what was unpacked. The message says which file shows it."""


class Mark(NamedTuple):
    """What changes with a file, as its file system keeps it."""

    number: int
    size_bytes: int
    changed_ns: int


class SealedFile(NamedTuple):
    """A file as it was unpacked."""

    digest: str
    mark: Mark


@frozen
class Seal:
    """The files of an unpacked folder, by their paths in it."""

    files: Mapping[str, SealedFile]

    @property
    def size_bytes(self) -> int:
        return sum(file.mark.size_bytes for file in self.files.values())

    @cached_property
    def content(self) -> str:
        """A digest of the folder: of all paths and contents, and of nothing else. Equal folders have the same one."""
        digest = hashlib.sha256()
        for path in sorted(self.files):
            digest.update(b"%s\0%s\0" % (os.fsencode(path), self.files[path].digest.encode()))
        return digest.hexdigest()

    @property
    def sums(self) -> str:
        """The digest of the one file; of several, that of the list that `sha256sum` prints of them in order of their
        paths."""
        if len(self.files) == 1:
            return next(iter(self.files.values())).digest
        lines = (b"%s  %s\n" % (self.files[path].digest.encode(), os.fsencode(path)) for path in sorted(self.files))
        return hashlib.sha256(b"".join(lines)).hexdigest()

    @classmethod
    def of(cls, folder: Path) -> "Seal":
        """The seal of a folder that nobody else can change yet. Raises OSError, BrokenSeal for a link."""
        return cls({path: SealedFile(digest_of(file), mark_of(file)) for path, file in _files(folder)})

    def check(self, folder: Path, digest: Callable[[int], str] = digest_of) -> None:
        """Raises BrokenSeal unless the folder has exactly these files, and OSError where it cannot be read."""
        left = dict(self.files)
        for path, file in _files(folder):
            sealed = left.pop(path, None)
            if sealed is None:
                raise BrokenSeal(f"{path} was added")
            mark = mark_of(file)
            if mark != sealed.mark and (mark.size_bytes != sealed.mark.size_bytes or digest(file) != sealed.digest):
                raise BrokenSeal(f"{path} was changed")
        if left:
            raise BrokenSeal(f"{min(left)} was removed")


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Each file below the folder: its path, and a descriptor that is closed after it. Raises BrokenSeal for anything
    else."""
    with ExitStack() as held:
        yield from _below(_opened(str(folder), FOLDER, None, held), "")


def _below(folder: int, path: str) -> Iterator[tuple[str, int]]:
    if path.count("/") > DEPTH_MAX:
        raise BrokenSeal(f"{path[:200]} was added")
    with os.scandir(folder) as entries:
        names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    for name, is_folder in names:
        with ExitStack() as held:
            if is_folder:
                yield from _below(_opened(name, FOLDER, folder, held), f"{path}{name}/")
            else:
                _refuse_special(os.stat(name, dir_fd=folder, follow_symlinks=False), f"{path}{name}")
                yield f"{path}{name}", _opened(name, READ, folder, held)


def _refuse_special(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise BrokenSeal(f"{path} is a link, or no file")


def _opened(name: str, flags: int, above: int | None, held: ExitStack) -> int:
    descriptor = os.open(name, flags, dir_fd=above)
    held.callback(os.close, descriptor)
    return descriptor


def mark_of(file: int) -> Mark:
    """The mark of an open file, once all is written to it."""
    status = os.fstat(file)
    return Mark(status.st_ino, status.st_size, status.st_ctime_ns)
