"""Runs work on a thread to completion, even for a caller that is cancelled."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def run_to_completion(work: Callable[..., T], *arguments: object) -> T:
    """Run work on a thread. A cancelled caller still waits for it, since the thread goes on and may write files."""
    thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(thread)
    finally:
        if not thread.done():
            await asyncio.wait([thread])
