"""Landlock: this process gives up all files but those that a few rules name, signals to processes outside, and TCP.

Source: landlock(7) and linux/landlock.h. A rule holds for a folder and all that is below it, by whatever path it is
reached: links lead nowhere else. Processes that this one starts inherit the rules, and nothing takes them back.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import IntFlag

from torpor_container.isolation.kernel import syscall

CREATE, ADD, RESTRICT = 444, 445, 446
"""The numbers are the same on every architecture."""
ASK_VERSION = 1
BENEATH_PATH, NET_PORT = 1, 2
ENFORCED_BY = 6
"""The version from which the kernel holds all that a box needs: signals came with it, in Linux 6.12."""

PORTS_SINCE = 4
"""The version in which the kernel learnt to hold TCP to ports, in Linux 6.7."""
BIND_TCP, CONNECT_TCP = 1, 2

ABSTRACT_SOCKETS, SIGNALS = 1, 2
SCOPES = ABSTRACT_SOCKETS | SIGNALS


class FileAccess(IntFlag):
    """What a process may do with files (LANDLOCK_ACCESS_FS_*)."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


SINCE: Mapping[int, FileAccess] = {
    1: FileAccess((1 << 13) - 1),
    2: FileAccess.REFER,
    3: FileAccess.TRUNCATE,
    5: FileAccess.IOCTL_DEV,
}
"""The version in which the kernel learnt each."""

EVERYTHING = FileAccess((1 << 16) - 1)
READ = FileAccess.READ_FILE | FileAccess.READ_DIR | FileAccess.EXECUTE
DEVICES = FileAccess.MAKE_CHAR | FileAccess.MAKE_BLOCK
WRITE = FileAccess((1 << 15) - 1) & ~DEVICES
"""Read too."""
USE = FileAccess.READ_FILE | FileAccess.WRITE_FILE | FileAccess.TRUNCATE | FileAccess.IOCTL_DEV
SHARE = USE | FileAccess.MAKE_REG | FileAccess.REMOVE_FILE
"""Files in a folder whose list stays hidden."""
OF_FILES = (
    FileAccess.EXECUTE | FileAccess.WRITE_FILE | FileAccess.READ_FILE | FileAccess.TRUNCATE | FileAccess.IOCTL_DEV
)
"""The only ones that a rule for a single file may have."""

Call = Callable[..., int]


class _Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`."""

    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _BeneathPath(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _NetPort(ctypes.Structure):
    """`struct landlock_net_port_attr`."""

    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


def version(call: Call = syscall) -> int:
    """The kernel's version of Landlock; 0 for a kernel that has none, or was started without it."""
    try:
        return call(CREATE, None, ctypes.c_size_t(0), ASK_VERSION)
    except OSError:
        return 0


def known_to(kernel: int) -> FileAccess:
    """What a kernel of this version of Landlock can forbid."""
    return FileAccess(sum(access for since, access in SINCE.items() if since <= kernel))


def restrict(
    rules: Iterable[tuple[str, FileAccess]],
    kernel: int,
    handled: FileAccess = EVERYTHING,
    call: Call = syscall,
    ports: Iterable[int] | None = None,
) -> None:
    """Restrict this thread, and all that it starts, to the files of the rules. A path that does not exist is ignored.

    It must have no new privileges (`kernel.give_up_privileges`). `kernel` is its `version`, 1 at least; `handled` is
    what needs a rule, and everything else stays allowed. With `ports`, TCP connects to these only, on any address, and
    binds to none; a kernel from PORTS_SINCE on can do so. Raises OSError.
    """
    handled &= known_to(kernel)
    wanted = _Ruleset(handled, 0 if ports is None else BIND_TCP | CONNECT_TCP, SCOPES if kernel >= ENFORCED_BY else 0)
    size_bytes = next(size for since, size in ((ENFORCED_BY, 24), (PORTS_SINCE, 16), (0, 8)) if kernel >= since)
    ruleset = call(CREATE, ctypes.byref(wanted), ctypes.c_size_t(size_bytes), 0)
    try:
        for path, access in rules:
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                _allow(ruleset, path, access & handled, call)
        for port in ports or ():
            call(ADD, ruleset, NET_PORT, ctypes.byref(_NetPort(CONNECT_TCP, port)), 0)
        call(RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: FileAccess, call: Call) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            access &= OF_FILES
        rule = _BeneathPath(access, place)
        if access:
            call(ADD, ruleset, BENEATH_PATH, ctypes.byref(rule), 0)
    except OSError as error:
        if error.errno != errno.EBADFD:  # a file of no file system, such as a pipe: it has no path to open anyway
            raise
    finally:
        os.close(place)
