"""Gives this process its own view of the file system: folders appear at absolute paths that need not exist.

A program that has `/opt/ml/model` written into it finds its model there, and the machine's real root is not touched:
the process gets a mount namespace (Linux), as root directly and as any other user within a user namespace. Where a path
is missing, a small tmpfs in this namespace alone covers the nearest folder that exists, with all that is in that folder
bound into it, so that the missing folders can be made there.
"""

import ctypes
import errno
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000
MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8
"""sched.h, mount.h: the numbers are the same on every architecture of Linux."""

MOUNT_SETATTR = 442
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
RDONLY = struct.pack("QQQQ", 1, 0, 0, 0)
"""`struct mount_attr` with MOUNT_ATTR_RDONLY (mount_setattr(2))."""

CAPABILITIES_VERSION = 0x20080522
"""_LINUX_CAPABILITY_VERSION_3 of capability.h: two sets of 32 bits each."""

PROC = "/proc"
ONLY_TRACEABLE = "hidepid=ptraceable"

TMPFS_OPTIONS = "mode=755,size=16m"
"""A tmpfs holds names of folders. The limit keeps other writes to it from filling the machine's memory."""


class NoNamespace(Exception):
    """This machine does not allow such a view. The message says which call it refused."""


def bind_mounts(mounts: Mapping[str, Path]) -> None:
    """Show each folder `source` at the absolute path `target`, to this process and to what it starts from now on.

    Call it in a process with one thread, before that runs foreign code. A target that exists is hidden. The path of the
    working directory stays the same. Takes less than a millisecond.

    Raises NoNamespace, also for a source that is not a folder. The process may then have a part of the view, and should
    end.
    """
    with own_view() as view, ExitStack() as held:
        # sources are opened first, since a target may cover them
        sources = {target: opened(source, held, os.O_DIRECTORY) for target, source in mounts.items()}
        for target, source in sorted(sources.items()):  # a folder comes before those within it
            view.bind(source, os.path.realpath(target))


@contextmanager
def own_view() -> Iterator["View"]:
    """Leave the machine's mount namespace, and change what the process sees in the block. See `bind_mounts`."""
    if not sys.platform.startswith("linux"):
        raise NoNamespace("mount namespaces need Linux")
    try:
        with _same_working_directory():
            new_user = _unshare()
            _mount(None, "/", MS_REC | MS_SLAVE)  # no mount below reaches the machine's own namespace
            yield View()
        if new_user and os.geteuid():
            _drop_capabilities()
    except OSError as error:
        raise NoNamespace(f"a mount namespace is not available: {error}") from error


def opened(path: str | Path, held: ExitStack, flags: int = 0) -> int:
    """A descriptor of the place, which leads there whatever covers it later, as long as `held` holds it."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | flags)
    held.callback(os.close, descriptor)
    return descriptor


def available() -> bool:
    """Whether this machine allows such a view. It tries in a child."""
    return _allows(lambda view: view.memory("/", MS_NOSUID | MS_NODEV, TMPFS_OPTIONS))


def shows_processes() -> bool:
    """Whether it allows a /proc of a view's own (`View.processes`). It tries in a child."""
    return _allows(lambda view: view.processes(()) or os._exit(1))


def _allows(use: Callable[["View"], object]) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    library()
    child = os.fork()
    if not child:
        code = 1
        with suppress(BaseException), own_view() as view:  # the outermost edge of a forked process: its code tells
            use(view)
            code = 0
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


class View:
    """The view of a process in a mount namespace of its own, which it may change. A target is a real path. One that is
    missing is made."""

    def __init__(self) -> None:
        self._ours: set[int] = set()  # the devices of this namespace's own tmpfs
        self._private: list[str] = []

    def bind(self, source: int, target: str, private: bool = False, readonly: bool = False) -> None:
        """Show what a descriptor of `opened` leads to. `private`: missing folders below it may be made in it."""
        is_folder = stat.S_ISDIR(os.fstat(source).st_mode)
        path = self._place(target, is_folder)
        if is_folder:
            os.fchdir(source)
            _mount(".", path, MS_BIND | MS_REC)
        else:
            _mount(f"/proc/self/fd/{source}", path, MS_BIND)
        if readonly:
            _call(
                "syscall",
                MOUNT_SETATTR,
                AT_FDCWD,
                os.fsencode(path),
                AT_RECURSIVE,
                RDONLY,
                ctypes.c_size_t(len(RDONLY)),
            )
        if private:
            self._private.append(path.rstrip("/") + "/")

    def layers(self, lower: Sequence[int], upper: int, work: int, target: str) -> None:
        """Show the folders `lower`, the first above the others. What is changed in them goes into `upper`, and `work`
        is the kernel's, on the same disk.

        Raises OSError where the disk of `upper` is of a kind that cannot be a layer.
        """
        below = ":".join(f"/proc/self/fd/{at}" for at in lower)
        options = f"lowerdir={below},upperdir=/proc/self/fd/{upper},workdir=/proc/self/fd/{work},userxattr,volatile"
        flags, path = MS_NOSUID | MS_NODEV, self._place(target, folder=True)
        _mount("overlay", path, flags, "overlay", options)

    def memory(self, target: str, flags: int, options: str) -> None:
        """Show an empty folder that is in memory."""
        _mount("tmpfs", self._place(target, folder=True), flags, "tmpfs", options)

    def processes(self, hidden: Iterable[str]) -> bool:
        """Show, in /proc, only the processes that one may trace, and nothing of what is `hidden`. False where this user
        may not: it takes root's rights, and Linux 5.8."""
        try:
            _mount("proc", PROC, MS_NOSUID | MS_NODEV | MS_NOEXEC, "proc", ONLY_TRACEABLE)
        except OSError:
            return False
        for name in hidden:
            if os.path.isfile(path := os.path.join(PROC, name)):
                _mount(os.devnull, path, MS_BIND)
        return True

    def _place(self, target: str, folder: bool) -> str:
        """Where to mount what the target shows: a folder, or a file."""
        path = target
        if not folder:
            if not os.path.isfile(path):
                above = self._place(os.path.dirname(path), folder=True)
                os.close(os.open(os.path.join(above, os.path.basename(path)), os.O_CREAT | os.O_WRONLY, 0o600))
        elif path.startswith(tuple(self._private)):
            os.makedirs(path, exist_ok=True)
        else:
            _make_folder(path, self._ours)
        return path


def _make_folder(path: str, ours: set[int]) -> None:
    """Make the folder if it is missing, in a tmpfs of this namespace. `ours` has the devices of these."""
    if not os.path.isdir(path):
        existing = os.path.dirname(path)
        while not os.path.isdir(existing):
            existing = os.path.dirname(existing)
        if os.stat(existing).st_dev not in ours:
            _cover(existing)
            ours.add(os.stat(existing).st_dev)
        os.makedirs(path)


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
    """Move the process to another root with the same content, since a process cannot cover the root that it is in."""
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
    """The entries of the folder. Their kinds are looked up now, since the paths lead elsewhere afterwards."""
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        entry.is_dir(follow_symlinks=False)
    return entries


def _copy(entry: os.DirEntry[str], source: str, into: str) -> None:
    """Put the same entry into another folder: a link as a link, anything else as a bind mount."""
    target = os.path.join(into, entry.name)
    with suppress(FileNotFoundError):  # it was removed since it was listed
        if entry.is_symlink():
            os.symlink(os.readlink(source), target)
            return
        if entry.is_dir(follow_symlinks=False):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
        _mount(source, target, MS_BIND | MS_REC)


def _unshare() -> bool:
    """Leave the machine's mount namespace. True if it took a user namespace too, in which this user stays the same."""
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
    """Drop the rights that a new user namespace gives, which a user who is not root does not have otherwise."""
    header = ctypes.create_string_buffer(struct.pack("Ii", CAPABILITIES_VERSION, 0))
    _call("capset", header, ctypes.create_string_buffer(struct.pack("6I", 0, 0, 0, 0, 0, 0)))


def _mount(source: str | None, target: str, flags: int, kind: str | None = None, options: str | None = None) -> None:
    texts = (os.fsencode(text) if text is not None else None for text in (source, target, kind, options))
    given, at, filesystem, settings = texts
    try:
        _call("mount", given, at, filesystem, ctypes.c_ulong(flags), settings)
    except OSError as error:
        raise OSError(error.errno, error.strerror, target) from None


@cache
def library() -> ctypes.CDLL:
    """Looked up once, in the zygote: the look-up would be a notable part of a child's start."""
    return ctypes.CDLL(None, use_errno=True)


def _call(function: str, *arguments: object) -> None:
    """Call a function of the C library. Raises OSError."""
    if not hasattr(library(), function):
        raise OSError(errno.ENOSYS, f"the C library has no {function}")
    if getattr(library(), function)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), function)


@contextmanager
def _same_working_directory() -> Iterator[None]:
    """Keep the path of the working directory. A working directory that was removed stays the same."""
    path = None
    with suppress(FileNotFoundError):
        path = os.getcwd()
    yield
    if path is not None:
        with suppress(FileNotFoundError):
            os.chdir(path)
