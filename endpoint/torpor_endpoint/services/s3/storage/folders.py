"""One open folder of the store, and what can be done with the names in it; no path, no index, no key.

Every step goes from an open folder to a name within it, and no symbolic link is ever followed: neither a link nor a
folder swapped in the midst of an operation leads out of the root.

A folder that was read, and a file that was written, are *marked*: their modification time becomes a moment of our own,
with nanoseconds in it. A change by hand afterwards gives them another time, however coarse the kernel's clock.
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
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # never wait for the other end of a pipe
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_COPY_BYTES: Final = 2**20

OCCUPIED: Final = (errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTEMPTY, errno.EEXIST)
"""How the system says that something else stands in a name's place."""

_ABSENT: Final = (errno.ENOENT, *OCCUPIED)


class Fingerprint(NamedTuple):
    """What tells one content of a file from the next without reading it."""

    size: int
    mtime_ns: int
    inode: int


class Folder:
    """An open folder. Whoever opens one closes it."""

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
        """A regular file, for reading; None for anything else that bears the name."""
        file = os.fdopen(os.open(name, _FILE, dir_fd=self._descriptor), "rb", buffering=0)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        return None

    def move_in(self, source: str, name: str) -> None:
        os.rename(source, name, dst_dir_fd=self._descriptor)

    def copy_in(self, source: IO[bytes], name: str) -> Fingerprint:
        """A new file with the bytes of another, on the disk and marked."""
        with os.fdopen(os.open(name, _NEW_FILE, 0o666, dir_fd=self._descriptor), "wb") as copy:
            shutil.copyfileobj(source, copy, _COPY_BYTES)
            copy.flush()
            mark(copy.fileno())
            os.fsync(copy.fileno())
            return _fingerprint(os.fstat(copy.fileno()))

    def unlink(self, name: str) -> None:
        os.unlink(name, dir_fd=self._descriptor)

    def rmdir(self, name: str) -> bool:
        """False when it is not empty."""
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
        """What `files_and_folders` gives, by their names alone: a folder's has a slash behind it."""
        with os.scandir(self._descriptor) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    yield entry.name
                elif entry.is_dir(follow_symlinks=False):
                    yield entry.name + "/"

    def files_and_folders(self) -> Iterator[tuple[str, Fingerprint | None]]:
        """Each name with its fingerprint, None for a folder. What is neither file nor folder is not seen."""
        with os.scandir(self._descriptor) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # gone since
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        yield entry.name, None
                    elif stat.S_ISREG(found.st_mode):
                        yield entry.name, _fingerprint(found)


def mark(descriptor: int) -> None:
    """Give an open file or folder a modification time that no change by hand will give it."""
    with suppress(PermissionError):  # somebody else's: the kernel's own time has to do
        now_ns = time.time_ns()
        os.utime(descriptor, ns=(now_ns, now_ns))


def fingerprint_of(file: FileIO) -> Fingerprint:
    return _fingerprint(os.fstat(file.fileno()))


def fingerprint_at(path: str) -> Fingerprint | None:
    """A mere look, by path; None where there is no regular file."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError as error:  # a thousand times for one page: `absence` would cost more than the look
        if error.errno not in _ABSENT:
            raise
        return None
    return _fingerprint(found) if stat.S_ISREG(found.st_mode) else None


@contextmanager
def absence() -> Iterator[None]:
    """Leave the block when what it looks for is not there; any other trouble is trouble."""
    try:
        yield
    except OSError as error:
        if error.errno not in _ABSENT:
            raise


def _fingerprint(found: os.stat_result) -> Fingerprint:
    return Fingerprint(found.st_size, found.st_mtime_ns, found.st_ino)
