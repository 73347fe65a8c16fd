"""Fills the free blocks between a zygote's objects, so that its children do not copy its pages.

A child shares its parent's pages until it writes to them, and then copies 4 KiB for every block that it puts into a
hole. Imports leave holes in all of 100 MiB: an instance that had called its models held 8 MiB of copied pages, for
2 MiB of free blocks. Filled once, in the parent, the holes cost nothing: their pages are there anyway.
"""

import ctypes
import platform
from collections import deque
from collections.abc import Sequence
from itertools import repeat

from torpor_container.processes.memory import top_of_heap

LARGEST_BYTES = 64 * 1024
LEAST_BYTES = 24
"""glibc's smallest block."""
STEP = 16
"""The difference between two sizes of blocks, in glibc and in Python's own allocator."""
POOL_BYTES = 16 * 1024
"""A pool of Python's allocator (`POOL_SIZE` of obmalloc, since 3.10), with blocks of one size."""
HEADER_BYTES = 48
"""The header of a pool; the first block follows it."""
SMALL_BYTES = 512
"""Python asks malloc for larger objects."""
BLOCKS_MAX = 50_000
"""At most this many holes of one size are filled."""


def fill() -> list[object]:
    """Fill the holes. Python's are full as long as the caller keeps the result; those of malloc are filled for ever.

    The process must have one thread. With other allocators, fewer holes are filled, or none.
    """
    fillings = list[object]()
    if platform.python_implementation() == "CPython":
        for size_bytes in range(STEP, SMALL_BYTES + 1, STEP):
            _fill_pools(size_bytes, fillings)
    _fill_heap()
    return fillings


def _fill_pools(size_bytes: int, fillings: list[object]) -> None:
    """Python takes a new pool once all pools with blocks of this size are full: that one hands out its blocks in order,
    from the first to the last. Two pools are filled before their addresses are read, since that takes blocks too."""
    blocks = (POOL_BYTES - HEADER_BYTES) // size_bytes
    for _ in range(BLOCKS_MAX // blocks):
        taken = deque(map(_of_size, repeat(size_bytes, 2 * blocks)))  # a list would take blocks itself as it grows
        fillings.extend(taken)
        if _has_new_pool([id(one) for one in taken], size_bytes, blocks):
            return


def _has_new_pool(addresses: Sequence[int], size_bytes: int, blocks: int) -> bool:
    firsts = (number for number, address in enumerate(addresses) if address % POOL_BYTES == HEADER_BYTES)
    return any(
        addresses[number : number + blocks] == [addresses[number] + size_bytes * place for place in range(blocks)]
        for number in firsts
    )


def _of_size(size_bytes: int) -> object:
    """An object that is one block of this size, and that the garbage collector ignores."""
    match size_bytes:
        case 16:
            return object()
        case 32:
            return float(size_bytes)
        case _:
            return bytes(size_bytes - bytes.__basicsize__)


def _fill_heap() -> None:
    """The largest holes first, each with the largest block that goes into one, until a block comes from the top."""
    top = top_of_heap()
    if top is None:
        return
    libc = ctypes.CDLL(None)
    libc.malloc.argtypes, libc.malloc.restype = (ctypes.c_size_t,), ctypes.c_void_p
    libc.free.argtypes = (ctypes.c_void_p,)
    for size_bytes in range(LARGEST_BYTES, LEAST_BYTES - 1, -STEP):
        while (block := libc.malloc(size_bytes)) and block < top:
            pass
        libc.free(block)
