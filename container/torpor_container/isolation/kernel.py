"""Calls of the kernel that Python does not have, by number. They raise OSError as Python's own do."""

import ctypes
import errno
import os
import platform
import sys
from functools import cache

PR_SET_NO_NEW_PRIVS = 38
CAPABILITIES_VERSION = 0x20080522
"""_LINUX_CAPABILITY_VERSION_3 of capability.h: two sets of 32 bits each."""


@cache
def library() -> ctypes.CDLL:
    """Looked up once, in the zygote: the look-up would be a notable part of a child's start."""
    return ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: object) -> int:
    """The result of a call. Raises OSError, with ENOSYS where this is not Linux."""
    if not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, "this is not Linux")
    return _checked(library().syscall(number, *arguments))


def give_up_privileges() -> None:
    """Drop every capability of this process, and keep it and what it starts from gaining any by a program's rights.

    Raises OSError.
    """
    _checked(library().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0)
    _checked(library().capset(header, (ctypes.c_uint32 * 6)()))


def machine() -> str:
    """The architecture, in the kernel's word: `x86_64`, `aarch64`."""
    return platform.machine() if sys.maxsize > 2**32 else ""


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)
