"""A child of a zygote that starts two processes and stays alive, as its owner sees it."""

import asyncio
import os
from typing import Any

from torpor_container.processes.zygote_client import Job, ZygoteClient


async def told(pipe: int) -> str:
    return (await asyncio.to_thread(os.read, pipe, 100)).decode()


async def lingering(parent: ZygoteClient, guarded: bool = False) -> tuple[list[int], Any]:
    """A child that started two processes: the three process ids, and its handle."""
    read, write = os.pipe()
    try:
        child = await parent.fork(Job("zygote_jobs:linger", guarded=guarded), [write])
        return [child.pid, *map(int, (await told(read)).split())], child
    finally:
        os.close(read)
        os.close(write)
