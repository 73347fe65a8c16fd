"""The warm parent of an instance that runs alone."""

import asyncio
import os
import signal

from torpor_container.parent import Parent
from torpor_container.processes import descendants
from torpor_container.warm import Job

JOB = Job("builtins:print")


def test_one_that_was_killed_is_seen_out_before_another_is_started() -> None:
    async def story() -> None:
        before = set(descendants(os.getpid()))
        parent = Parent("")
        assert await (await parent.fork(JOB)).wait() == 0
        (first,) = set(descendants(os.getpid())) - before
        os.kill(first, signal.SIGKILL)
        while first in descendants(os.getpid()):  # asyncio hears of it in its own time
            await asyncio.sleep(0.01)
        assert await (await parent.fork(JOB)).wait() == 0
        await parent.close()
        assert set(descendants(os.getpid())) == before

    asyncio.run(asyncio.wait_for(story(), 30.0))
