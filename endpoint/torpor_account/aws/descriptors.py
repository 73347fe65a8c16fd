"""Retries work that opens files while the process has no file descriptor left: others are closed all the time."""

import asyncio
import errno
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
NO_DESCRIPTOR_TEXT = "Too many open files"
"""The text of an ImportError of native code, which has no errno."""


async def retry_for_descriptors(work: Callable[[], T], pauses_s: Sequence[float] = PAUSES_S) -> T:
    """Call `work` in a thread, and again after each pause while it lacks descriptors. Raises what `work` raises."""
    for pause_s in pauses_s:
        try:
            return await asyncio.to_thread(work)
        except (OSError, ImportError) as error:
            if not lacks_descriptors(error):
                raise
        await asyncio.sleep(pause_s)
    return await asyncio.to_thread(work)


def lacks_descriptors(error: OSError | ImportError) -> bool:
    return getattr(error, "errno", None) in NO_DESCRIPTOR or NO_DESCRIPTOR_TEXT in str(error)
