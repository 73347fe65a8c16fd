"""What a process really holds, and how to give freed memory back to the system.

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

M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
LARGE_BYTES = 128 * 1024
TRIED_PAGES = 5
TRIES = 3
_NO_MEMORY = ("bad_alloc", "MemoryError", "Failed to allocate memory", "bad allocation")
"""How C++'s libraries say it: XGBoost and ONNX Runtime have no error of their own for it."""
"""Another thread may take a page meanwhile."""


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
    """A process's anonymous pages, in bytes, those too that it shares with its zygote. Read off, not walked.

    0 for a process that is gone.
    """
    try:
        with open(f"/proc/{pid}/statm", "rb") as statm:
            _, resident, of_files = statm.read().split()[:3]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(resident) - int(of_files)) * mmap.PAGESIZE


def allocated_bytes() -> int:
    """What this process has asked malloc for and not given back, in bytes; 0 where the C library does not tell."""
    told = _mallinfo()
    if told is None:
        return 0
    info = told()
    return int(info.uordblks + info.hblkhd)


@cache
def counts_exactly() -> bool:
    """Whether the kernel counts every page at once. Older ones add up now and then what each processor has counted."""
    if not sys.platform.startswith("linux"):
        return False
    return any(_counted(TRIED_PAGES) == TRIED_PAGES for _ in range(TRIES))


def limit_data(more_bytes: int) -> None:
    """Let this process take so much more writable private memory than it has: beyond it, it gets MemoryError.

    The soft limit is set (RLIMIT_DATA, setrlimit(2)): not on addresses, of which libraries reserve far more.
    """
    import resource  # POSIX only

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_data_bytes() + more_bytes, hard))


def end_before_others(score: int) -> None:
    """Where the machine has no memory left, the kernel ends processes of the highest score first, from 0 to 1,000.

    To raise one's own needs no rights (proc(5), oom_score_adj). Nothing happens where the system has no such thing.
    """
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(score))


def no_memory(error: BaseException) -> bool:
    """Whether a framework's error says that memory was not to be had."""
    told = f"{type(error).__name__} {error}"
    return isinstance(error, MemoryError) or any(word in told for word in _NO_MEMORY)


def lean_heap() -> None:
    """Keep glibc to two heaps, and large blocks out of them: those go back to the system as they are freed.

    It makes up to eight heaps per core for threads, and each keeps what the others could use. Once a large block was
    freed it takes the next one of that size from a heap, where it leaves holes: large bodies took half as much again.
    """
    if sys.platform.startswith("linux") and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(M_ARENA_MAX, 2)
        libc.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


def top_of_heap() -> int | None:
    """The address from which glibc's main heap is free up to its end; None for another C library."""
    told, libc = _mallinfo(), ctypes.CDLL(None)
    if told is None or not hasattr(libc, "sbrk"):
        return None
    libc.sbrk.argtypes, libc.sbrk.restype = (ctypes.c_ssize_t,), ctypes.c_void_p
    end: int | None = libc.sbrk(0)
    return None if end is None else end - int(told().keepcost)


def give_back() -> None:
    """Hand freed heap memory back to the system. Without this glibc keeps nearly all of it."""
    if sys.platform.startswith("linux"):
        _trim()


def _data_bytes() -> int:
    """Writable private memory, the stack included; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[5]) * mmap.PAGESIZE
    except OSError:
        return 0


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
    """How many more pages are counted once so many have been touched."""
    with mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as touched:
        anonymous_bytes()  # what reading takes itself is there already
        before = anonymous_bytes()
        for page in range(pages):
            touched[page * mmap.PAGESIZE] = 1
        return (anonymous_bytes() - before) // mmap.PAGESIZE


def _trim() -> None:
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # musl has none, and returns memory by itself
        libc.malloc_trim(0)


def _peak_rss_bytes() -> int:
    import resource  # POSIX only, and needed only where /proc is missing

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
