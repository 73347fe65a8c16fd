"""The zygote of an instance that runs alone."""

import asyncio
import os
import signal
from contextlib import aclosing
from functools import partial

import pytest

from tests.helpers.waiting import PATIENCE_S
from tests.helpers.zygotes import LIGHT
from torpor_container.processes.process_tree import descendants
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import Job, OwnedZygote

JOB = Job("builtins:print")


class Closing(ZygoteAccess):
    """Closes the zygote at the end of a block, also after an error."""

    aclose = ZygoteAccess.close


def test_a_killed_zygote_is_reaped_before_the_next_one_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnedZygote, "start", partial(OwnedZygote.start, command=LIGHT))

    async def story() -> None:
        before = set(descendants(os.getpid()))
        async with aclosing(Closing("")) as parent:
            for _ in range(3):
                assert await (await parent.fork(JOB)).wait() == 0
                (warm,) = set(descendants(os.getpid())) - before
                os.kill(warm, signal.SIGKILL)
        assert set(descendants(os.getpid())) <= before, "one is left; those of other tests may have ended meanwhile"

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
