"""Runs work on a caller's document in a thread where the document is large, so that the event loop stays free."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

INLINE_MAX_BYTES = 2 * 1024
"""A document of this size is read within about 20 ms, whatever it holds: CBOR of empty maps takes 9 us a byte."""


async def off_loop(size_bytes: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `work` directly for a document of up to INLINE_MAX_BYTES, and in a worker thread for a larger one.

    The thread shares the interpreter with the event loop: `work` must not stay long in one call of native code.
    """
    if size_bytes <= INLINE_MAX_BYTES:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
