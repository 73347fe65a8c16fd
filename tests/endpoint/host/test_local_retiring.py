"""The zygote ends when no instance needs it, and a launch at that moment gets another."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.endpoint.helpers.local_hosts import local_host, warm_parent
from tests.helpers.processes import gone
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import PATIENCE_S
from torpor_container.processes.process_tree import parent as parent_of
from torpor_container.processes.zygote_client import Job
from torpor_endpoint.host import LaunchSpec, Phase, Slot

BARE = """
import time
from torpor_container.processes import zygote
rest = lambda *_: time.sleep(600)
zygote.PRELOAD, zygote.PREPARE = {}, "gc:collect"
zygote.main(str)
"""
"""A zygote with nothing imported: it comes and goes in no time."""
COMMAND = (sys.executable, "-c", BARE)
REST = Job("__main__:rest")


def spec(number: int) -> LaunchSpec:
    return LaunchSpec(Slot("e", "v", number), {"SAGEMAKER_MULTI_MODEL": "true"})


@pytest.mark.parametrize("turns", [0, 5, *thorough(1, 50)])
def test_a_launch_while_the_zygote_retires_gets_another_zygote(tmp_path: Path, turns: int) -> None:
    async def story() -> None:
        parent = warm_parent(tmp_path / "r", COMMAND)
        host = local_host(tmp_path / "r", tmp_path / "disks", parent)
        child = await parent.fork_untold(REST, [])
        zygote = parent_of(child.pid)
        child.kill()
        retiring = asyncio.create_task(parent.retire(0.02))
        assert zygote is not None
        assert await asyncio.to_thread(gone, zygote)
        for _ in range(turns):
            await asyncio.sleep(0)
        launched = await host.launch(spec(0))
        await host.terminate(launched.slot, 0.0)
        again = await host.launch(spec(1))
        assert again.phase is Phase.RUNNING
        retiring.cancel()
        await host.close()
        await parent.close()

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


def test_the_zygote_does_not_retire_while_it_is_used(tmp_path: Path) -> None:
    async def story() -> None:
        parent = warm_parent(tmp_path, COMMAND)
        child = await parent.fork_untold(REST, [])
        looks: asyncio.Queue[float] = asyncio.Queue(1)
        retiring = asyncio.create_task(parent.retire(0.0, looks.put))
        for _ in range(3):
            await looks.get()
        assert parent_of((await parent.fork_untold(REST, [])).pid) == parent_of(child.pid)
        assert child.running
        retiring.cancel()
        await parent.close()

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
