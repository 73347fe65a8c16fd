"""A script's calls that change a file's mode, owner, dates or extended attributes, or watch it: its guardian makes
them.

Landlock does not hold these calls. So the guardian finds the file, once, and makes the call in the script's place if
the file is the script's own (`OwnPlaces`); for any other file it answers EPERM. A script sets no modes that lend the
owner's rights to others (setuid), no owners but those that it might give without privileges, and no attributes of the
system.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import MappingProxyType
from typing import Final

from torpor_container.frozen_class import frozen
from torpor_container.isolation.kernel import library, machine, syscall
from torpor_container.isolation.system_calls import METADATA
from torpor_container.isolation.tracing.calling_task import AT_FDCWD, CallingTask, OwnPlaces
from torpor_container.isolation.tracing.tracer import TracedCall

NO_FOLLOW, EMPTY_PATH = 0x100, 0x1000
"""AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH"""
UTIMENSAT = {"x86_64": 280, "aarch64": 88}
PIDFD_OPEN, PIDFD_GETFD = 434, 438
DO_NOT_FOLLOW = 0x02000000
"""IN_DONT_FOLLOW"""
SET_ID_BITS = 0o6000
UNCHANGED = 0xFFFFFFFF
"""The owner or group -1."""
OF_USERS = b"user."
NAME_MAX, VALUE_MAX = 256, 64 * 1024
NOW = 0x3FFFFFFF
"""UTIME_NOW"""
BILLION = 10**9

Change = Callable[[CallingTask, int, tuple[int, ...]], int]
"""Changes the file of a descriptor as the arguments say; the result of the call. Raises OSError."""


@frozen
class FileCall:
    """How a call names its file: the places of its descriptor, path and flags among the arguments, and of the first
    argument of the change."""

    change: Change
    first: int
    descriptor: int | None = None
    path: int | None = None
    flags: int | None = None
    follows: bool = True


def set_mode(task: CallingTask, file: int, arguments: tuple[int, ...]) -> int:
    mode, status = arguments[0] & 0o7777, os.stat(file)
    if stat.S_ISLNK(status.st_mode):
        raise _error(errno.EOPNOTSUPP)
    if mode & SET_ID_BITS and not stat.S_ISDIR(status.st_mode):
        raise _error(errno.EPERM)
    os.chmod(_path_of(file), mode)
    return 0


def set_owner(task: CallingTask, file: int, arguments: tuple[int, ...]) -> int:
    user, group = (one & 0xFFFFFFFF for one in arguments[:2])
    status = os.stat(file)
    if user not in (UNCHANGED, status.st_uid) or group not in (UNCHANGED, status.st_gid, os.getegid()):
        raise _error(errno.EPERM)
    if group not in (UNCHANGED, status.st_gid) and not stat.S_ISLNK(status.st_mode):
        os.chown(_path_of(file), -1, group)
    return 0


def _setting_dates(form: str, unit: int) -> Change:
    """A change of both dates, which are given as numbers of this form: seconds, and parts of a second if `unit` is not
    1. No address: the time now."""

    def change(task: CallingTask, file: int, arguments: tuple[int, ...]) -> int:
        if arguments[0]:
            numbers = struct.unpack(form, task.read(arguments[0], struct.calcsize(form)))
            dates = [part for second in numbers for part in (second, 0)] if unit == 1 else _in_billionths(numbers, unit)
        else:
            dates = [0, NOW, 0, NOW]
        packed = struct.pack("=4q", *dates)
        given = ctypes.create_string_buffer(packed, len(packed))
        return syscall(UTIMENSAT[machine()], ctypes.c_int(file), b"", given, ctypes.c_int(EMPTY_PATH))

    return change


def _in_billionths(numbers: tuple[int, ...], unit: int) -> list[int]:
    """Seconds and billionths, from seconds and parts of this unit. Raises OSError for parts that make a second."""
    if unit == BILLION:
        return list(numbers)  # which have special values: the kernel checks them
    if not all(0 <= part < unit for part in numbers[1::2]):
        raise _error(errno.EINVAL)
    return [numbers[0], numbers[1] * (BILLION // unit), numbers[2], numbers[3] * (BILLION // unit)]


def set_attribute(task: CallingTask, file: int, arguments: tuple[int, ...]) -> int:
    address, value, size_bytes, flags = arguments[:4]
    name = _attribute_of_users(task, address)
    if size_bytes > VALUE_MAX:
        raise _error(errno.E2BIG)
    os.setxattr(_path_of(file), name, task.read(value, size_bytes) if size_bytes else b"", flags & 0xFFFFFFFF)
    return 0


def remove_attribute(task: CallingTask, file: int, arguments: tuple[int, ...]) -> int:
    os.removexattr(_path_of(file), _attribute_of_users(task, arguments[0]))
    return 0


def watch(task: CallingTask, file: int, arguments: tuple[int, ...]) -> int:
    """Add a watch of the file to the task's own list of watches, which is a descriptor of it."""
    listed, _, mask = arguments[:3]
    with ExitStack() as held:
        process = syscall(PIDFD_OPEN, ctypes.c_int(_process_of(task.task)), ctypes.c_uint(0))
        held.callback(os.close, process)
        watches = syscall(PIDFD_GETFD, ctypes.c_int(process), ctypes.c_int(_signed(listed)), ctypes.c_uint(0))
        held.callback(os.close, watches)
        wanted = ctypes.c_uint32(mask & 0xFFFFFFFF & ~DO_NOT_FOLLOW)
        found = library().inotify_add_watch(watches, os.fsencode(_path_of(file)), wanted)
        if found < 0:
            raise _error(ctypes.get_errno())
        return int(found)


CALLS: Final[Mapping[str, FileCall]] = MappingProxyType(
    {
        "chmod": FileCall(set_mode, 1, path=0),
        "fchmod": FileCall(set_mode, 1, descriptor=0),
        "fchmodat": FileCall(set_mode, 2, descriptor=0, path=1),
        "fchmodat2": FileCall(set_mode, 2, descriptor=0, path=1, flags=3),
        "chown": FileCall(set_owner, 1, path=0),
        "fchown": FileCall(set_owner, 1, descriptor=0),
        "lchown": FileCall(set_owner, 1, path=0, follows=False),
        "fchownat": FileCall(set_owner, 2, descriptor=0, path=1, flags=4),
        "utime": FileCall(_setting_dates("=2q", 1), 1, path=0),
        "utimes": FileCall(_setting_dates("=4q", 10**6), 1, path=0),
        "futimesat": FileCall(_setting_dates("=4q", 10**6), 2, descriptor=0, path=1),
        "utimensat": FileCall(_setting_dates("=4q", BILLION), 2, descriptor=0, path=1, flags=3),
        "setxattr": FileCall(set_attribute, 1, path=0),
        "lsetxattr": FileCall(set_attribute, 1, path=0, follows=False),
        "fsetxattr": FileCall(set_attribute, 1, descriptor=0),
        "removexattr": FileCall(remove_attribute, 1, path=0),
        "lremovexattr": FileCall(remove_attribute, 1, path=0, follows=False),
        "fremovexattr": FileCall(remove_attribute, 1, descriptor=0),
        "inotify_add_watch": FileCall(watch, 0, path=1),
    }
)
WITHOUT_PATH = ("utimensat", "futimesat")
"""These take the descriptor's own file where the path is no address."""


def by_number() -> Mapping[int, str]:
    """The names of these calls on this machine."""
    found = {row.number(machine()): row.name for row in METADATA}
    return {number: name for number, name in found.items() if number is not None}


def made(call: TracedCall, name: str, places: OwnPlaces) -> int:
    """Make a call in the task's place, if its file lies in one of the places. Its result, or a negative error."""
    form, task = CALLS[name], CallingTask(call.task)
    try:
        with ExitStack() as held:
            file = _file(task, name, form, call.arguments)
            held.callback(os.close, file)
            own = held.enter_context(places.own(file, top=name == "inotify_add_watch"))
            if own is None:
                return -errno.EPERM
            return form.change(task, own, call.arguments[form.first :])
    except OSError as error:
        return -(error.errno or errno.EPERM)


def _file(task: CallingTask, name: str, form: FileCall, arguments: tuple[int, ...]) -> int:
    """The file that a call names, opened."""
    folder = AT_FDCWD if form.descriptor is None else _signed(arguments[form.descriptor])
    if form.path is None:
        return task.of_descriptor(folder)
    flags = _signed(arguments[form.flags]) if form.flags is not None else 0
    if flags & ~(NO_FOLLOW | EMPTY_PATH):
        raise _error(errno.EINVAL)
    address = arguments[form.path]
    if not address and name in WITHOUT_PATH and folder != AT_FDCWD:
        return task.of_descriptor(folder)
    path = task.text(address)
    if not path and flags & EMPTY_PATH:
        return task.of_folder(folder)
    follows = form.follows and not flags & NO_FOLLOW
    if name == "inotify_add_watch":
        follows = not arguments[2] & DO_NOT_FOLLOW
    return task.of_path(folder, path, follows)


def _attribute_of_users(task: CallingTask, address: int) -> bytes:
    """The name of an attribute, which only users' may be: others mean something to the kernel."""
    name = task.text(address, NAME_MAX)
    if not name.startswith(OF_USERS):
        raise _error(errno.EOPNOTSUPP)
    return name


def _path_of(file: int) -> str:
    return f"/proc/self/fd/{file}"


def _process_of(task: int) -> int:
    with open(f"/proc/{task}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Tgid:"))


def _signed(argument: int) -> int:
    """An argument of 32 bits, as C's int."""
    return ctypes.c_int32(argument & 0xFFFFFFFF).value


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
