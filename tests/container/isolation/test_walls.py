"""Which setting moves the wall that a script met."""

import errno
import os
import socket
import sys
from subprocess import CalledProcessError

import pytest

from torpor_container.isolation.walls import met


def refused(number: int, path: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), path)


def wrapped(cause: BaseException) -> BaseException:
    """An error of a library, as it raises one for an error of the system."""
    try:
        raise RuntimeError("access denied") from cause
    except RuntimeError as error:
        return error


WALLS: dict[str, tuple[BaseException, str]] = {
    "a file to read": (refused(errno.EACCES, "/srv/labels.txt"), "TORPOR_SCRIPT_READS names further"),
    "a file to write": (refused(errno.EROFS, "/usr/lib/x"), "TORPOR_SCRIPT_WRITES"),
    "a mode to set": (refused(errno.EPERM, "/srv/labels.txt"), "TORPOR_SCRIPT_WRITES"),
    "another process": (refused(errno.EACCES, "/proc/1/stat"), "TORPOR_SCRIPT_READS=/proc"),
    "another process, which is hidden": (refused(errno.ENOENT, "/proc/1/stat"), "TORPOR_SCRIPT_READS=/proc"),
    "what a library wraps": (wrapped(refused(errno.EACCES, "/proc/7/statm")), "TORPOR_SCRIPT_READS=/proc"),
    "a socket": (refused(errno.EACCES), "TORPOR_SCRIPT_NETWORK"),
    "a name to look up": (socket.gaierror(-3, "Temporary failure in name resolution"), "TORPOR_SCRIPT_NETWORK"),
    "a process": (refused(errno.EAGAIN), "TORPOR_SCRIPT_PROCESSES"),
    "a thread": (RuntimeError("can't start new thread"), "TORPOR_SCRIPT_PROCESSES"),
    "a large file": (refused(errno.EFBIG, "out.bin"), "TORPOR_SCRIPT_DISK_MIB"),
    "full shared memory": (refused(errno.ENOSPC), "TORPOR_MEMORY_MIB"),
    "pip": (CalledProcessError(1, [sys.executable, "-m", "pip", "install", "x"]), "TORPOR_REQUIREMENTS=install"),
    "pip in a shell": (CalledProcessError(1, "/usr/bin/pip3 install x"), "TORPOR_REQUIREMENTS=install"),
    "a package that is not there": (ModuleNotFoundError("No module named 'x'"), "TORPOR_REQUIREMENTS=install"),
    "a descriptor": (refused(errno.EMFILE), "1024 descriptors"),
}


@pytest.mark.parametrize("wall", WALLS)
def test_an_error_at_a_wall_names_its_setting(wall: str) -> None:
    error, setting = WALLS[wall]
    assert setting in met(error)


LS = CalledProcessError(2, ["ls", "x"])


@pytest.mark.parametrize("error", [ValueError("no"), refused(errno.ENOENT, "x"), RuntimeError("no"), OSError("no"), LS])
def test_other_errors_say_nothing_of_the_box(error: BaseException) -> None:
    assert met(error) == ""


def test_an_error_that_led_to_itself_comes_to_an_end() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__context__, second.__context__ = second, first
    assert met(first) == ""
