"""Finds the files that processes hold and that no folder has: deleted ones, mappings that they share, `memfd_create`.

No limit of the kernel's counts them. A mapping counts with its whole length where this user may not see how much of it
is filled (root may).
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import NamedTuple

BLOCK_BYTES = 512
MAPPING = re.compile(rb"(([0-9a-f]+)-([0-9a-f]+)) ..[-x]s ([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) ([0-9]+) .*\(deleted\)$")
"""A line of /proc/<pid>/maps (proc(5)) for a file without a name that is shared."""

File = tuple[int, int]
"""Its device and number."""


class Unnamed(NamedTuple):
    """The bytes that they take."""

    disk_bytes: int
    memory_bytes: int


def unnamed(pids: Iterable[int]) -> Unnamed:
    """What these processes hold. A file that several hold counts once."""
    sizes = dict[File, int]()
    for pid in pids:
        for file, size_bytes in _mapped(pid):
            sizes[file] = max(size_bytes, sizes.get(file, 0))
        sizes.update(_opened(pid))
    in_memory = sum(size_bytes for (device, _), size_bytes in sizes.items() if device == _device_of_memory())
    return Unnamed(sum(sizes.values()) - in_memory, in_memory)


def _opened(pid: int) -> Iterator[tuple[File, int]]:
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for one in descriptors:
            with suppress(OSError):
                status = one.stat()
                if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                    yield (status.st_dev, status.st_ino), status.st_blocks * BLOCK_BYTES


def _mapped(pid: int) -> Iterator[tuple[File, int]]:
    with suppress(OSError), open(f"/proc/{pid}/maps", "rb") as lines:
        for line in lines:
            if found := MAPPING.match(line):
                place, begin, end, offset, major, minor, number = found.groups()
                size_bytes = int(offset, 16) + int(end, 16) - int(begin, 16)
                with suppress(OSError):
                    size_bytes = os.stat(f"/proc/{pid}/map_files/{place.decode()}").st_blocks * BLOCK_BYTES
                yield (os.makedev(int(major, 16), int(minor, 16)), int(number)), size_bytes


@cache
def _device_of_memory() -> int:
    """The device of the files in memory that have no name anywhere."""
    with suppress(OSError, AttributeError):
        file = os.memfd_create("torpor", os.MFD_CLOEXEC)
        try:
            return os.fstat(file).st_dev
        finally:
            os.close(file)
    return -1
