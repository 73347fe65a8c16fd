"""Says which setting of its container moves the wall of the box that an error of a script may have met."""

import errno
import os
import socket
import subprocess
from collections.abc import Iterator

CHAIN_MAX = 20

REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
PROCESSES = "/proc"
NO_THREAD = "can't start new thread"
"""The text of Python's RuntimeError where the kernel starts none."""

FILES = "TORPOR_SCRIPT_READS names further places that it may read, and TORPOR_SCRIPT_WRITES those that it may write"
OTHER_PROCESSES = f"TORPOR_SCRIPT_READS={PROCESSES} shows it the processes of this machine"
NETWORK = "TORPOR_SCRIPT_NETWORK says what it may connect to, and TORPOR_SCRIPT_BOX=false takes the box away"
TASKS = "TORPOR_SCRIPT_PROCESSES bounds its processes and threads together"
DISK = "TORPOR_SCRIPT_DISK_MIB bounds each file and all of them together"
DESCRIPTORS = "it has 1024 descriptors, and TORPOR_SCRIPT_BOX=false takes the box away"
SHARED_MEMORY = "TORPOR_MEMORY_MIB bounds /dev/shm, and TORPOR_SCRIPT_FILES the files there"
PACKAGES = (
    "A script installs no packages itself: TORPOR_REQUIREMENTS=install installs what requirements.txt beside it lists "
    "(docs/reference/scripts.md)."
)
SETTINGS = {errno.EAGAIN: TASKS, errno.EFBIG: DISK, errno.EMFILE: DESCRIPTORS, errno.ENOSPC: SHARED_MEMORY}
INSTALLERS = frozenset({"pip", "pip3", "uv"})


def met(error: BaseException) -> str:
    """A sentence for the error of a script in its box: the setting of the wall that it, or what led to it, met. Empty
    where it met none."""
    for one in _chain(error):
        if isinstance(one, ModuleNotFoundError) or _is_installation(one):
            return PACKAGES
        if setting := _setting(one):
            return f"The script's box may refuse this: {setting} (docs/explanation/isolation.md)."
    return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those that led to it, latest first."""
    for _ in range(CHAIN_MAX):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _setting(error: BaseException) -> str:
    if isinstance(error, RuntimeError):
        return TASKS if NO_THREAD in str(error) else ""
    if isinstance(error, socket.gaierror):
        return NETWORK
    if not isinstance(error, OSError) or error.errno is None:
        return ""
    if error.errno in REFUSED or (error.errno == errno.ENOENT and _is_of_processes(error.filename)):
        return _of_file(error.filename)
    return SETTINGS.get(error.errno, "")


def _is_installation(error: BaseException) -> bool:
    """Whether it is of a program that should have installed packages, as scripts run it at their import."""
    if not isinstance(error, subprocess.CalledProcessError):
        return False
    words = error.cmd.split() if isinstance(error.cmd, str) else [str(word) for word in error.cmd]
    return "install" in words and not INSTALLERS.isdisjoint(os.path.basename(word) for word in words)


def _of_file(path: object) -> str:
    if path is None:
        return NETWORK
    return OTHER_PROCESSES if _is_of_processes(path) else FILES


def _is_of_processes(path: object) -> bool:
    """A script that does not see other processes may find that they are not there."""
    name = path.decode(errors="replace") if isinstance(path, bytes) else str(path)
    return name == PROCESSES or name.startswith(PROCESSES + "/")
