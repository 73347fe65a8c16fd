"""Measures the memory that a process really holds, limits it, and returns freed memory to the system.

Figures are the unique set size (USS): pages that belong to this process alone. RSS would count the frameworks that a
forked instance shares with its zygote.
"""

import ctypes
import mmap
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from torpor_container.processes.memory_budget import Limit

M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
LARGE_BYTES = 128 * 1024
TRIED_PAGES = 5
TRIES = 3
"""Another thread may take a page meanwhile."""
_NO_MEMORY = ("bad_alloc", "MemoryError", "Failed to allocate memory", "bad allocation")
"""Texts of C++ libraries' errors: XGBoost and ONNX Runtime have no exception of their own for it."""

STACKS_BYTES = 128 * 1024 * 1024
"""Room for the stacks of threads: the limit counts all writable memory, though a stack uses only a page or two."""
SCORE = 500
"""When memory runs out, the kernel ends an instance before the endpoint, and after a process of trials."""


def uss_bytes(pid: int | str = "self") -> int:
    """The pages that only this process holds, in bytes; 0 for a process that is gone, or is another user's."""
    if not sys.platform.startswith("linux"):
        return _peak_rss_bytes()
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Private_"))


def anonymous_bytes(pid: int | str = "self") -> int:
    """A process's anonymous pages, in bytes, also those that it shares with its zygote. Read from a counter.

    0 for a process that is gone.
    """
    try:
        with open(f"/proc/{pid}/statm", "rb") as statm:
            _, resident, of_files = statm.read().split()[:3]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(resident) - int(of_files)) * mmap.PAGESIZE


def anonymous_part_bytes(pid: int | str = "self") -> int:
    """A process's part of its anonymous pages, in bytes: of a page that several processes share, each has an equal part
    (Pss_Anon, proc(5)). The kernel walks all its pages. As `anonymous_bytes` where the kernel does not say it."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except PermissionError:
        return anonymous_bytes(pid)
    parts = [int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss_Anon:")]
    return parts[0] if parts else anonymous_bytes(pid)


def allocated_bytes() -> int:
    """The bytes of malloc's blocks in use; 0 where the C library does not count them."""
    mallinfo = _mallinfo()
    if mallinfo is None:
        return 0
    info = mallinfo()
    return int(info.uordblks + info.hblkhd)


@cache
def counts_exactly() -> bool:
    """Whether the kernel counts each page immediately. Older kernels sum up the counts of processors now and then."""
    if not sys.platform.startswith("linux"):
        return False
    return any(_counted(TRIED_PAGES) == TRIED_PAGES for _ in range(TRIES))


def limit_data(more_bytes: int) -> None:
    """Limit this process to `more_bytes` more writable private memory than it has. Beyond that, it gets MemoryError.

    This sets the soft RLIMIT_DATA (setrlimit(2)), not a limit on addresses, of which libraries reserve far more.
    """
    _limit_data(_data_bytes() + more_bytes)


def end_before_others(score: int) -> None:
    """Set this process's score, from 0 to 1,000: when memory runs out, the kernel ends the highest score first.

    A process may raise its own score without rights (proc(5), oom_score_adj). Other systems ignore it.
    """
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(score))


def confine(budget_bytes: int) -> Limit:
    """Limit this process, an instance, to its budget: a load or an answer that needs more fails alone.

    Returns the function that limits it to another budget. A lower one leaves the process what it has already, and
    STACKS_BYTES more: models that are in use go on.
    """
    began_bytes = _data_bytes()

    def limit(budget_bytes: int) -> None:
        _limit_data(max(began_bytes + budget_bytes, _data_bytes()) + STACKS_BYTES)

    limit(budget_bytes)
    end_before_others(SCORE)
    return limit


def no_memory(error: BaseException) -> bool:
    """Whether a framework's error means that there was no memory."""
    text = f"{type(error).__name__} {error}"
    return isinstance(error, MemoryError) or any(word in text for word in _NO_MEMORY)


def lean_heap() -> None:
    """Limit glibc to two heaps, and keep large blocks out of them, so that those go back to the system when freed.

    By default glibc makes up to eight heaps per core for threads, and each keeps memory that the others could use. Once
    a large block was freed, the next one of that size comes from a heap and leaves holes: large bodies took half as
    much memory again.
    """
    if sys.platform.startswith("linux") and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(M_ARENA_MAX, 2)
        libc.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


def top_of_heap() -> int | None:
    """The address from which glibc's main heap is free up to its end; None for another C library."""
    mallinfo, libc = _mallinfo(), ctypes.CDLL(None)
    if mallinfo is None or not hasattr(libc, "sbrk"):
        return None
    libc.sbrk.argtypes, libc.sbrk.restype = (ctypes.c_ssize_t,), ctypes.c_void_p
    end: int | None = libc.sbrk(0)
    return None if end is None else end - int(mallinfo().keepcost)


def give_back() -> None:
    """Return freed heap memory to the system. Without this glibc keeps nearly all of it."""
    if sys.platform.startswith("linux"):
        _trim()


def _data_bytes() -> int:
    """Writable private memory in bytes, the stack included; 0 where the system does not count it."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[5]) * mmap.PAGESIZE
    except OSError:
        return 0


def _limit_data(most_bytes: int) -> None:
    import resource  # POSIX only

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, hard))


class _Mallinfo(ctypes.Structure):
    """glibc's `struct mallinfo2` (2.33 and later)."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


@cache
def _mallinfo() -> Any:
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return None
    libc.mallinfo2.restype = _Mallinfo
    return libc.mallinfo2


def _counted(pages: int) -> int:
    """By how many pages the kernel's count grows when this many are touched."""
    with mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as touched:
        anonymous_bytes()  # the first read takes its own pages
        before = anonymous_bytes()
        for page in range(pages):
            touched[page * mmap.PAGESIZE] = 1
        return (anonymous_bytes() - before) // mmap.PAGESIZE


def _trim() -> None:
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # musl has none, since it returns memory immediately
        libc.malloc_trim(0)


def _peak_rss_bytes() -> int:
    import resource  # POSIX only, and needed only where /proc is missing

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
