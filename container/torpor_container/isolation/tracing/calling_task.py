"""A task that stands at a call: what its arguments point to, and which file they name.

A file is opened here, once, as the task would find it; whoever decides about it acts on this descriptor, so nothing
that the task changes meanwhile counts. The descriptors are O_PATH: they read and write nothing.
"""

import ctypes
import errno
import os
import re
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from torpor_container.isolation.kernel import syscall

AT_FDCWD = -100
PATH_MAX = 4096
PAGE = 4096
OPENAT2 = 437
"""The number is the same on every architecture."""
IN_ROOT, BENEATH, NO_LINKS, NO_MAGIC_LINKS = 0x10, 0x08, 0x04, 0x02
"""RESOLVE_IN_ROOT, BENEATH, NO_SYMLINKS and NO_MAGICLINKS."""
TRIES = 1000
"""A rename or a mount anywhere on the machine may end openat2(2) with EAGAIN: "The caller may choose to retry"."""
OWN_DESCRIPTOR = rb"(?:/proc/(?:self|thread-self|%d)/fd|/dev/fd)/([0-9]{1,9})"
"""The path of a descriptor: libraries use it for files that they have open."""


class CallingTask:
    """A process or thread, which stands still."""

    def __init__(self, task: int) -> None:
        self.task = task

    def read(self, address: int, size_bytes: int) -> bytes:
        """Its memory. Raises OSError (EFAULT)."""
        data = self._memory(address, size_bytes)
        if len(data) != size_bytes:
            raise _error(errno.EFAULT)
        return data

    def text(self, address: int, most_bytes: int = PATH_MAX) -> bytes:
        """Its text up to the first zero. Raises OSError (EFAULT, ENAMETOOLONG)."""
        text = b""
        while len(text) < most_bytes:
            place = address + len(text)
            part = self._memory(place, min(PAGE - place % PAGE, most_bytes - len(text)))
            if not part:
                raise _error(errno.EFAULT)
            found, end, _ = part.partition(b"\0")
            text += found
            if end:
                return text
        raise _error(errno.ENAMETOOLONG)

    def _memory(self, address: int, size_bytes: int) -> bytes:
        if address >= 1 << 63:
            return b""
        try:
            memory = os.open(f"/proc/{self.task}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.pread(memory, size_bytes, address)
        except OSError:
            return b""
        finally:
            os.close(memory)

    def of_descriptor(self, descriptor: int) -> int:
        """The file of one of its descriptors. Raises OSError."""
        try:
            return os.open(f"/proc/{self.task}/fd/{descriptor}", os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            raise _error(errno.EBADF) from None

    def of_path(self, folder: int, path: bytes, follows: bool = True) -> int:
        """The file at a path from a descriptor of a folder, or from AT_FDCWD. Raises OSError."""
        if own := re.fullmatch(OWN_DESCRIPTOR % self.task, path):
            return self.of_descriptor(int(own[1]))
        if not path:
            raise _error(errno.ENOENT)
        if not path.startswith(b"/"):
            path = os.path.join(os.readlink(os.fsencode(self._place(folder))), path)
        with _opened(f"/proc/{self.task}/root") as root:
            return _open_in(root, path, 0 if follows else os.O_NOFOLLOW, IN_ROOT)

    def of_folder(self, folder: int) -> int:
        """The folder of a descriptor, or the working one (AT_FDCWD). Raises OSError."""
        return self.of_descriptor(folder) if folder != AT_FDCWD else os.open(self._place(folder), os.O_PATH)

    def _place(self, folder: int) -> str:
        return f"/proc/{self.task}/{'cwd' if folder == AT_FDCWD else f'fd/{folder}'}"


class OwnPlaces:
    """The files and folders that a script may change, at their paths as the process `of` sees them."""

    def __init__(self, of: int, places: Iterable[str]) -> None:
        self._of = of
        self._places = tuple(places)

    @contextmanager
    def own(self, file: int, top: bool = False) -> Iterator[int | None]:
        """A descriptor of the same file, if it lies below one of the folders, which the kernel affirms, or is one of
        the files; None if not. `top`: or if it is one of the folders."""
        found = self._found(file, top)
        try:
            yield found
        finally:
            if found is not None:
                os.close(found)

    def _found(self, file: int, top: bool) -> int | None:
        path = os.readlink(f"/proc/self/fd/{file}")
        for place in self._places:
            if path == place or path.startswith(place + "/"):
                with suppress(OSError):
                    found = self._below(place, path[len(place) + 1 :])
                    status = os.stat(found)
                    is_top = path == place and stat.S_ISDIR(status.st_mode)
                    if os.path.samestat(status, os.stat(file)) and (top or not is_top):
                        return found
                    os.close(found)
        return None

    def _below(self, place: str, rest: str) -> int:
        with _opened(f"/proc/{self._of}/root") as root:
            top = _open_in(root, os.fsencode(place), os.O_NOFOLLOW, IN_ROOT)
        if not rest:
            return top
        try:
            return _open_in(top, os.fsencode(rest), os.O_NOFOLLOW, BENEATH | NO_LINKS)
        finally:
            os.close(top)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _open_in(folder: int, path: bytes, flags: int, resolved: int) -> int:
    """A descriptor of what lies at a path in a folder (openat2(2)). Magic links, as /proc has, are not followed."""
    how = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC | flags, 0, resolved | NO_MAGIC_LINKS)
    given = ctypes.create_string_buffer(how, len(how))
    for _ in range(TRIES - 1):
        with suppress(BlockingIOError):
            return syscall(OPENAT2, ctypes.c_int(folder), path, given, ctypes.c_size_t(len(how)))
    return syscall(OPENAT2, ctypes.c_int(folder), path, given, ctypes.c_size_t(len(how)))


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
