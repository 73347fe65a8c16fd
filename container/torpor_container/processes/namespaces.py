"""Gives this process a view of the file system of its own: folders appear at absolute paths that need not exist.

A program that has `/opt/ml/model` written into it finds its model there, and the machine's real root is not touched:
the process gets a mount namespace (Linux), as root directly and as any other user within a user namespace. Where a path
is missing, a small tmpfs in this namespace alone covers the nearest folder that exists, with all that is in that folder
bound into it, so that the missing folders can be made there.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000
"""sched.h, mount.h: the numbers are the same on every architecture of Linux."""

CAPABILITIES_VERSION = 0x20080522
"""_LINUX_CAPABILITY_VERSION_3 of capability.h: two sets of 32 bits each."""

TMPFS_OPTIONS = "mode=755,size=16m"
"""It holds names of folders; what is written beside them shall not fill the machine's memory."""


class NoNamespace(Exception):
    """This machine lets the process have no such view. The message says what it refused."""


def bind_mounts(mounts: Mapping[str, Path]) -> None:
    """Show each folder `source` at the absolute path `target`, to this process and to what it starts from now on.

    To be called in a process with one thread, before it runs others' code. Targets are hidden by what they show, as far
    as they exist. The working directory stays the same path. Takes less than a millisecond.

    Raises NoNamespace, also for a source that is no folder; then the process may be left with a part of the view, and
    is best ended.
    """
    if not sys.platform.startswith("linux"):
        raise NoNamespace("mount namespaces need Linux")
    try:
        with _same_working_directory():
            own_user = _unshare()
            _mount(None, "/", MS_REC | MS_SLAVE)  # nothing done here reaches the machine's own namespace
            _bind_all(mounts)
        if own_user and os.geteuid():
            _drop_capabilities()
    except OSError as error:
        raise NoNamespace(f"a mount namespace cannot be had: {error}") from error


def _bind_all(mounts: Mapping[str, Path]) -> None:
    """Sources are looked up before any target covers them."""
    ours: set[int] = set()
    sources = {target: os.open(source, os.O_PATH | os.O_DIRECTORY) for target, source in mounts.items()}
    try:
        for target, source in sorted(sources.items()):  # a folder comes before those within it
            path = _made(os.path.realpath(target), ours)
            os.fchdir(source)
            _mount(".", path, MS_BIND | MS_REC)
    finally:
        for source in sources.values():
            os.close(source)


def _made(path: str, ours: set[int]) -> str:
    """The folder, made if it is missing, in a tmpfs of this namespace. `ours` are the devices of those."""
    if not os.path.isdir(path):
        existing = os.path.dirname(path)
        while not os.path.isdir(existing):
            existing = os.path.dirname(existing)
        if os.stat(existing).st_dev not in ours:
            _cover(existing)
            ours.add(os.stat(existing).st_dev)
        os.makedirs(path)
    return path


def _cover(folder: str) -> None:
    """Put a tmpfs over a folder, with all that is in the folder bound into it."""
    if folder == "/":
        _cover_root()
        return
    below = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        entries = _entries(folder)
        _mount("tmpfs", folder, 0, "tmpfs", TMPFS_OPTIONS)
        os.fchdir(below)  # relative paths lead to what the tmpfs covers
        for entry in entries:
            _copy(entry, entry.name, folder)
    finally:
        os.close(below)


def _cover_root() -> None:
    """A root cannot be covered for a process that is in it: the process moves to another root with the same in it."""
    entries = _entries("/")
    stage = next(f"/{entry.name}" for entry in entries if entry.is_dir(follow_symlinks=False))
    below = os.open(stage, os.O_PATH | os.O_DIRECTORY)
    try:
        _mount("tmpfs", stage, 0, "tmpfs", TMPFS_OPTIONS)
        os.fchdir(below)
        for entry in entries:
            _copy(entry, "." if entry.path == stage else entry.path, stage)
        os.chroot(stage)
        os.chdir("/")
    finally:
        os.close(below)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in the folder, with its kinds looked up: afterwards the paths lead elsewhere."""
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        entry.is_dir(follow_symlinks=False)
    return entries


def _copy(entry: os.DirEntry[str], source: str, into: str) -> None:
    """The same entry in another folder: a link as a link, anything else bound."""
    target = os.path.join(into, entry.name)
    with suppress(FileNotFoundError):  # it has gone since it was listed
        if entry.is_symlink():
            os.symlink(os.readlink(source), target)
            return
        if entry.is_dir(follow_symlinks=False):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
        _mount(source, target, MS_BIND | MS_REC)


def _unshare() -> bool:
    """Leave the machine's mount namespace; whether that took a user namespace too, in which this user is the same."""
    user, group = os.geteuid(), os.getegid()
    try:
        _call("unshare", CLONE_NEWNS)
    except PermissionError:
        _call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    else:
        return False
    Path("/proc/self/setgroups").write_text("deny")  # user_namespaces(7): before the groups are mapped
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def _drop_capabilities() -> None:
    """The rights that a new user namespace gives: a user who is not root has none otherwise."""
    header = ctypes.create_string_buffer(struct.pack("Ii", CAPABILITIES_VERSION, 0))
    _call("capset", header, ctypes.create_string_buffer(struct.pack("6I", 0, 0, 0, 0, 0, 0)))


def _mount(source: str | None, target: str, flags: int, kind: str | None = None, options: str | None = None) -> None:
    texts = (os.fsencode(text) if text is not None else None for text in (source, target, kind, options))
    given, at, filesystem, settings = texts
    try:
        _call("mount", given, at, filesystem, ctypes.c_ulong(flags), settings)
    except OSError as error:
        raise OSError(error.errno, error.strerror, target) from None


def _call(function: str, *arguments: object) -> None:
    """A function of the C library. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, function):
        raise OSError(errno.ENOSYS, f"the C library has no {function}")
    if getattr(library, function)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), function)


@contextmanager
def _same_working_directory() -> Iterator[None]:
    """The path stays, whatever it leads to afterwards. One that was removed stays what it is."""
    path = None
    with suppress(FileNotFoundError):
        path = os.getcwd()
    yield
    if path is not None:
        with suppress(FileNotFoundError):
            os.chdir(path)
