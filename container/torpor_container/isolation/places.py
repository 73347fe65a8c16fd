"""Which files a script may reach, as rules: its own folders, and to read, Python, libraries and a part of the system.

A rule holds for all that is below a folder, and nothing below it can be taken out again. So a readable folder that has
the endpoint's data in it is split into its entries.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from torpor_container.isolation.landlock import READ, SHARE, USE, WRITE, FileAccess

Rule = tuple[str, FileAccess]

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/os-release"),
    *("/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/fonts", "/etc/passwd", "/etc/group"),
    *("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf"),
    *("/etc/services", "/etc/protocols", "/etc/ssl", "/etc/pki", "/etc/ca-certificates"),
    *("/etc/debian_version", "/etc/redhat-release", "/etc/system-release", "/etc/lsb-release", "/etc/alpine-release"),
    *("/etc/arch-release", "/etc/SuSE-release", "/etc/issue", "/etc/hostname", "/etc/ld.so.preload", "/etc/magic"),
    *("/etc/mailcap", "/etc/locale.alias", "/etc/locale.conf", "/etc/default/locale", "/etc/shells", "/etc/inputrc"),
    *("/etc/bash.bashrc", "/etc/OpenCL", "/etc/vulkan", "/etc/libnl-3", "/etc/openmpi", "/etc/papersize"),
    *("/etc/ImageMagick-6", "/etc/ImageMagick-7", "/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/R"),
    *("/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version"),
    *("/proc/filesystems", "/proc/sys", "/proc/vmstat", "/proc/zoneinfo", "/proc/diskstats", "/proc/swaps"),
    *("/proc/devices", "/proc/cgroups", "/proc/partitions", "/proc/pressure"),
)
"""What programs and libraries read. Not the home folders, not /etc/shadow, not other processes' folders in /proc."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SHARED_MEMORY = "/dev/shm"
"""Semaphores of `multiprocessing` are files there. Where it is not the script's own, nobody in a box can list it."""

OWN_PROCESS = "/proc/self"
PROCESSES = "/proc"
"""Where it has only the script's own, they may be read."""

OF_PYTHON = ("PYTHONPATH", "LD_LIBRARY_PATH", "PATH", "VIRTUAL_ENV")
OF_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
PROGRAMS_LEAST = 2
"""A folder of the search path is taken only if it is this deep: `PATH=/` would be the whole machine."""

List = Callable[[str], Sequence[str]]


def of_python(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The folders and files in which Python, programs, libraries and certificates are found."""
    named = (part for name in (*OF_PYTHON, *OF_CERTIFICATES) for part in environment.get(name, "").split(os.pathsep))
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, *(part for part in named if _is_deep(part))]
    return [place for place in dict.fromkeys(map(os.path.abspath, filter(None, places))) if place != "/"]


real = cache(os.path.realpath)
"""The real path of a place, looked up once: the zygote does so for Python's own, which no child has to follow again."""


@cache
def system() -> tuple[str, ...]:
    """The real paths of the system's own places that are there, but for those within others. They do not change while
    it runs: scripts find them looked up."""
    there = {path for path in map(os.path.realpath, SYSTEM) if os.path.exists(path)}
    return tuple(path for path in sorted(there) if not any(_is_below(path, other) for other in there - {path}))


def readable(others: Iterable[str], hidden: Sequence[str], entries: List = os.listdir) -> list[str]:
    """What a script may read, as real paths: the system's own places and `others` but for what is `hidden`."""
    tops = dict.fromkeys((*system(), *map(real, others)))
    return [place for top in tops for place in without(top, hidden, entries)]


def rules(own: Sequence[str], read: Iterable[str]) -> list[Rule]:
    """The rules of a box: `own` may be written, and `read` may be read. Paths are absolute."""
    given = [*((place, WRITE) for place in own), *((place, READ) for place in read)]
    devices = [(device, USE) for device in DEVICES]
    shared = [] if SHARED_MEMORY in own else [(SHARED_MEMORY, SHARE)]
    return [*given, *devices, *shared, (OWN_PROCESS, READ)]


def without(top: str, hidden: Sequence[str], entries: List = os.listdir) -> Iterator[str]:
    """The folder, or its parts that lie beside what is hidden. Nothing of a folder that is hidden, or that cannot be
    listed."""
    if any(_is_below(top, one) for one in hidden):
        return
    if not any(_is_below(one, top) for one in hidden):
        yield top
        return
    try:
        names = entries(top)
    except OSError:
        return
    for name in sorted(names):
        yield from without(os.path.join(top, name), hidden, entries)


def _is_below(path: str, folder: str) -> bool:
    """Whether it is the folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_deep(path: str) -> bool:
    return path.startswith("/") and len([part for part in path.split("/") if part]) >= PROGRAMS_LEAST
