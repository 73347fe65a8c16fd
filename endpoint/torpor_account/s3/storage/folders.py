"""Opens one folder of the store, and works with the names in it. It knows no path, no index and no key.

Every step goes from an open folder to a name in it, and follows no symbolic link: neither a link nor a folder that is
swapped during an operation can lead out of the root.

A folder that was read, and a file that was written, are *marked*: Torpor sets their modification time to a time of its
own, in nanoseconds. A later change by hand gives them another time, however coarse the kernel's clock is.
"""

import errno
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from typing import IO, Final, NamedTuple

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # never block on a named pipe
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_COPY_BYTES: Final = 2**20

OCCUPIED: Final = (errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTEMPTY, errno.EEXIST)
"""The errors that mean: something else has this name."""

_ABSENT: Final = (errno.ENOENT, *OCCUPIED)


class Fingerprint(NamedTuple):
    """What distinguishes two contents of a file without reading it."""

    size: int
    mtime_ns: int
    inode: int


class Folder:
    """An open folder. The caller that opens it closes it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def at(cls, path: str) -> "Folder":
        return cls(os.open(path, _FOLDER))

    def close(self) -> None:
        os.close(self._descriptor)

    def enter(self, name: str) -> "Folder":
        return Folder(os.open(name, _FOLDER, dir_fd=self._descriptor))

    def make(self, name: str) -> "Folder":
        os.mkdir(name, dir_fd=self._descriptor)
        return self.enter(name)

    def open(self, name: str) -> FileIO | None:
        """The regular file of this name, for reading; None if the name is something else."""
        file = os.fdopen(os.open(name, _FILE, dir_fd=self._descriptor), "rb", buffering=0)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        return None

    def move_in(self, source: str, name: str) -> None:
        os.rename(source, name, dst_dir_fd=self._descriptor)

    def copy_in(self, source: IO[bytes], name: str) -> Fingerprint:
        """Write a new file with the bytes of `source`, flush it to the disk and mark it."""
        with os.fdopen(os.open(name, _NEW_FILE, 0o666, dir_fd=self._descriptor), "wb") as copy:
            shutil.copyfileobj(source, copy, _COPY_BYTES)
            copy.flush()
            mark(copy.fileno())
            os.fsync(copy.fileno())
            return _fingerprint(os.fstat(copy.fileno()))

    def unlink(self, name: str) -> None:
        os.unlink(name, dir_fd=self._descriptor)

    def rmdir(self, name: str) -> bool:
        """Remove an empty folder. False if it is not empty."""
        try:
            os.rmdir(name, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in OCCUPIED:
                return False
            raise
        return True

    @property
    def mark_ns(self) -> int:
        return os.fstat(self._descriptor).st_mtime_ns

    def mark(self) -> int:
        mark(self._descriptor)
        return self.mark_ns

    def names(self) -> Iterator[str]:
        """The names of files and folders; a folder's name ends with a slash."""
        with os.scandir(self._descriptor) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    yield entry.name
                elif entry.is_dir(follow_symlinks=False):
                    yield entry.name + "/"

    def files_and_folders(self) -> Iterator[tuple[str, Fingerprint | None]]:
        """Each file with its fingerprint, and each folder with None. Other kinds of entries are left out."""
        with os.scandir(self._descriptor) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # removed meanwhile
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        yield entry.name, None
                    elif stat.S_ISREG(found.st_mode):
                        yield entry.name, _fingerprint(found)


def mark(descriptor: int) -> None:
    """Give an open file or folder a modification time that no change by hand gives it."""
    with suppress(PermissionError):  # another user owns it: it keeps the kernel's time
        now_ns = time.time_ns()
        os.utime(descriptor, ns=(now_ns, now_ns))


def fingerprint_of(file: FileIO) -> Fingerprint:
    return _fingerprint(os.fstat(file.fileno()))


def fingerprint_at(path: str) -> Fingerprint | None:
    """The fingerprint of the file at a path; None if there is no regular file."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError as error:  # called a thousand times for one page: `absence` would take longer than the call itself
        if error.errno not in _ABSENT:
            raise
        return None
    return _fingerprint(found) if stat.S_ISREG(found.st_mode) else None


@contextmanager
def absence() -> Iterator[None]:
    """Suppress the errors that mean that the file or folder is not there. Other errors pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in _ABSENT:
            raise


def _fingerprint(found: os.stat_result) -> Fingerprint:
    return Fingerprint(found.st_size, found.st_mtime_ns, found.st_ino)
