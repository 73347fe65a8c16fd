"""Bounds the memory of a foreign container's processes together, where it is a copy of an inference component.

Its processes know nothing of it: it looks once a second, and its caller ends them, as the kernel ends a container on
SageMaker that is out of memory.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping

from torpor_container.processes.memory import anonymous_bytes, anonymous_part_bytes
from torpor_container.processes.process_tree import MEMORY_BOUND
from torpor_container.processes.threads import on_thread

LOOK_S = 1.0
MIB = 1024 * 1024

log = logging.getLogger(__name__)


def memory_bound_bytes(environment: Mapping[str, str]) -> int | None:
    """What an endpoint has set for a copy; None for any other instance, which has its machine's memory."""
    text = environment.get(MEMORY_BOUND)
    return None if text is None else int(text) * MIB


async def until_exceeded(most_bytes: int, processes: Callable[[], Collection[int]], look_s: float = LOOK_S) -> None:
    """Returns once these processes hold more anonymous memory than that. Pages that they share, as forked workers do,
    count once: to find that takes long, so first a quick look counts them for each."""

    def used() -> int:
        pids = processes()
        most = sum(map(anonymous_bytes, pids))
        return most if most <= most_bytes else sum(map(anonymous_part_bytes, pids))

    while True:
        used_bytes = await on_thread(used)
        if used_bytes > most_bytes:
            text = "the container holds %d MiB of memory, and its copy may have %d: it is ended"
            log.error(text, used_bytes // MIB, most_bytes // MIB)
            return
        await asyncio.sleep(look_s)
