"""Work on a thread that nobody abandons: who is cancelled meanwhile goes when it is over."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def to_its_end(work: Callable[..., T], *arguments: object) -> T:
    """Work on a thread, waited for even by a caller who is cancelled: it writes on as long as it runs."""
    thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(thread)
    finally:
        if not thread.done():
            await asyncio.wait([thread])
