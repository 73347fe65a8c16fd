"""Work that opens files, done again while the process has no descriptor left: others are closed all the time."""

import asyncio
import errno
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
NONE_LEFT = (errno.EMFILE, errno.ENFILE)
IN_WORDS = "Too many open files"
"""So an import of native code says it, which has no number."""


async def once_there_are_some(work: Callable[[], T], pauses_s: Sequence[float] = PAUSES_S) -> T:
    """Calls `work` in a thread, again after each pause while it lacks descriptors. Raises what it raises."""
    for pause_s in pauses_s:
        try:
            return await asyncio.to_thread(work)
        except (OSError, ImportError) as error:
            if not lacks_descriptors(error):
                raise
        await asyncio.sleep(pause_s)
    return await asyncio.to_thread(work)


def lacks_descriptors(error: OSError | ImportError) -> bool:
    return getattr(error, "errno", None) in NONE_LEFT or IN_WORDS in str(error)
