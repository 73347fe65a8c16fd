"""The zygotes of a machine: one that has little forks first, and one that has all takes over once it is ready.

Their imports are played: those of a whole zygote last until the test opens its gate.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, cast

import pytest

from tests.helpers.processes import children, gone, has_ended
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import PATIENCE_S, reached
from tests.helpers.zygotes import LIGHT
from torpor_container.processes.import_steps import Step
from torpor_container.processes.process_tree import parent as parent_of
from torpor_container.processes.zygote_client import Child, Job, OwnedZygote, ZygoteClient
from torpor_endpoint.core.warm_steps import WantedStep
from torpor_endpoint.host.warm_parent import WarmParent

ZYGOTE = """
import os, pathlib, sys
from torpor_container.processes import zygote
gate = pathlib.Path(sys.argv.pop(1))
def libraries(step):
    if step.name == "WHOLE" and gate.read_text() == "broken":
        os._exit(1)
def rest(arguments, descriptors):
    print(os.environ.get("TORPOR_WHOLE_PARENT", ""), flush=True)
    os.read(descriptors[0], 1)
zygote.PRELOAD, zygote.PREPARE = {}, "gc:collect"
zygote.main(libraries)
"""

SOCKETS = "TORPOR_WARM_PARENT", "TORPOR_WHOLE_PARENT"
BOOSTERS, WHOLE, GUESSED = WantedStep(Step.BOOSTERS), WantedStep(Step.WHOLE), WantedStep(Step.BOOSTERS, guessed=True)


@dataclass
class Ground:
    """The zygotes under test, and the gate of the whole one."""

    parent: WarmParent
    folder: Path
    gate: Path
    rest_on: int

    async def fork(self, wanted: WantedStep) -> Child:
        return await self.parent.fork(self.job(), [self.rest_on], wanted)

    def job(self) -> Job:
        return Job("__main__:rest", log=self.folder / "log")

    async def open(self, word: str = "open") -> None:
        """Let the imports of the whole zygote end; it comes to its gate once it has started."""
        await asyncio.to_thread(self.gate.write_text, word)

    async def open_for(self, asked: Awaitable[Child]) -> Child:
        """The child that is asked for, of a whole zygote whose imports end now. None comes to the gate if the child is
        refused."""
        async with asyncio.TaskGroup() as both:
            child = both.create_task(awaited(asked))
            both.create_task(self.open())
        return child.result()

    async def whole_pid(self) -> int:
        """The whole zygote, once it has started."""
        await reached(self._whole, look_s=0.01)
        return self._whole()[0]

    def _whole(self) -> list[int]:
        return [pid for pid in children(os.getpid()) if {str(self.gate), "WHOLE"} <= words(pid)]

    def whole_client(self) -> ZygoteClient:
        """A client of the socket that the children are told of."""
        return ZygoteClient(Path((self.folder / "log").read_text().split()[-1]))


def words(pid: int) -> set[str]:
    """Those of its command."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return set(Path(f"/proc/{pid}/cmdline").read_text().split("\0"))
    return set()


@asynccontextmanager
async def ground(folder: Path, guesses: bool) -> AsyncIterator[Ground]:
    gate = folder / "gate"
    os.mkfifo(gate)
    command = (sys.executable, "-c", ZYGOTE, str(gate))
    parent = WarmParent(folder, partial(OwnedZygote.start, command=command, closed_within_s=inf), guesses)
    read, write = os.pipe()
    try:
        yield Ground(parent, folder, gate, read)
    finally:
        os.close(os.open(gate, os.O_RDONLY | os.O_NONBLOCK))  # whoever still waits for a zygote to read waits no more
        await parent.close()
        os.close(read)
        os.close(write)


def run(folder: Path, story: Callable[[Ground], Awaitable[None]], guesses: bool = True) -> None:
    async def told() -> None:
        async with ground(folder, guesses) as here:
            await story(here)

    before = set(children(os.getpid()))
    asyncio.run(asyncio.wait_for(told(), PATIENCE_S))
    assert set(children(os.getpid())) <= before


async def awaited(child: Awaitable[Child]) -> Child:
    return await child


async def logged(here: Ground) -> None:
    await reached(lambda: (here.folder / "log").exists() and here.folder.joinpath("log").read_text(), look_s=0.01)


def test_the_whole_zygote_starts_behind_a_guess_and_takes_over_once_it_is_needed(tmp_path: Path) -> None:
    async def story(here: Ground) -> None:
        first = await here.fork(GUESSED)
        low = parent_of(first.pid)
        assert low is not None
        assert parent_of((await here.fork(BOOSTERS)).pid) == low  # the whole one still imports
        await here.open()
        whole = await here.fork(WHOLE)
        high = parent_of(whole.pid)
        assert high != low
        assert parent_of((await here.fork(BOOSTERS)).pid) == low  # which has enough, and stays while it has children
        assert parent_of((await here.fork(GUESSED)).pid) == high  # which has enough for anything
        retiring = asyncio.create_task(here.parent.retire(0.02))
        for pid in children(low):
            os.kill(pid, signal.SIGKILL)
        assert await asyncio.to_thread(gone, low)
        assert parent_of((await here.fork(BOOSTERS)).pid) == high
        assert whole.running
        retiring.cancel()

    run(tmp_path, story)


class PlayedZygote(OwnedZygote):
    """Forks until it was `killed`; then it resets connections, and nobody has been told of its end."""

    def __init__(self, path: Path) -> None:
        ZygoteClient.__init__(self, path)
        self.killed = False
        self.child: Any = object()
        self.environment: Mapping[str, str] = {}

    async def fork(self, job: Job, descriptors: Sequence[int] = ()) -> Child:
        if self.killed:
            raise ConnectionResetError
        self.environment = job.environment
        return cast(Child, self.child)

    @property
    def running(self) -> bool:
        return True

    async def ready(self) -> None:
        pass

    async def ended(self) -> None:
        await asyncio.Event().wait()

    def kill(self) -> None:
        pass

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("told", [True, False])
def test_a_child_comes_though_every_zygote_was_killed_a_moment_ago(tmp_path: Path, told: bool) -> None:
    started: list[PlayedZygote] = []

    async def start(path: Path, *, step: Step, listener: socket.socket | None) -> OwnedZygote:
        started.append(PlayedZygote(path))
        return started[-1]

    async def story() -> None:
        parent, job = WarmParent(tmp_path, start, guesses=False), Job("__main__:rest")
        for step in Step:
            await parent.fork(job, [], WantedStep(step))
        for zygote in started:
            zygote.killed = True
        child = await (parent.fork(job, [], WantedStep(Step.BARE)) if told else parent.fork_untold(job, []))
        assert child is started[-1].child
        assert len(started) == len(Step) + 1
        assert [name in started[-1].environment for name in SOCKETS] == [told, told]
        await parent.close()

    asyncio.run(story())


def test_a_guess_that_nothing_comes_of_ends_while_instances_run(tmp_path: Path) -> None:
    async def story(here: Ground) -> None:
        child = await here.fork(GUESSED)
        whole = await here.whole_pid()
        await here.open()
        retiring = asyncio.create_task(here.parent.retire(0.02))
        assert await asyncio.to_thread(gone, whole)
        assert child.running
        retiring.cancel()

    run(tmp_path, story)


def test_one_that_still_imports_ends_at_once_with_its_owner(tmp_path: Path) -> None:
    async def story(here: Ground) -> None:
        child = await here.fork(GUESSED)
        whole = await here.whole_pid()
        await here.parent.close()  # which waits for its end, though nobody opens the gate
        assert has_ended(whole)
        assert not child.running

    run(tmp_path, story)


def test_one_that_starts_as_its_owner_closes_ends_with_the_others(tmp_path: Path) -> None:
    launched, go_on = asyncio.Event(), asyncio.Event()
    made: list[OwnedZygote] = []

    async def start(path: Path, **how: Any) -> OwnedZygote:
        made.append(await OwnedZygote.start(path, command=LIGHT, **how))
        launched.set()
        await go_on.wait()
        return made[-1]

    async def story() -> None:
        parent = WarmParent(tmp_path, start)
        forking = asyncio.create_task(parent.fork_untold(Job("gc:collect"), []))
        await launched.wait()
        closing = asyncio.create_task(parent.close())
        await asyncio.sleep(0)
        go_on.set()
        await closing
        assert [zygote.running for zygote in made] == [False]
        with suppress(OSError):
            await forking
        with pytest.raises(ConnectionError):
            await parent.fork_untold(Job("gc:collect"), [])
        assert len(made) == 1

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


def test_none_starts_behind_a_guess_where_it_would_not_be_kept(tmp_path: Path) -> None:
    async def story(here: Ground) -> None:
        before = set(children(os.getpid()))
        child = await here.fork(GUESSED)
        assert parent_of((await here.fork(GUESSED)).pid) == parent_of(child.pid)
        assert set(children(os.getpid())) - before == {parent_of(child.pid)}

    run(tmp_path, story, guesses=False)


def test_what_needs_all_waits_for_the_whole_zygote_and_what_does_not_goes_on(tmp_path: Path) -> None:
    async def story(here: Ground) -> None:
        whole = await here.open_for(here.fork(WHOLE))
        other = await here.fork(BOOSTERS)
        assert parent_of(whole.pid) == parent_of(other.pid)  # it is ready, and one zygote is enough

    run(tmp_path, story)


def test_no_whole_zygote_runs_until_something_needs_it(tmp_path: Path) -> None:
    async def story(here: Ground) -> None:
        before = set(children(os.getpid()))
        child = await here.fork(BOOSTERS)
        await logged(here)
        assert set(children(os.getpid())) - before == {parent_of(child.pid)}
        script = await here.open_for(here.whole_client().fork(here.job(), [here.rest_on]))
        assert parent_of(script.pid) not in (None, parent_of(child.pid))

    run(tmp_path, story)


def test_a_killed_whole_zygote_is_replaced_when_the_next_one_asks(tmp_path: Path) -> None:
    async def story(here: Ground) -> None:
        child = await here.fork(GUESSED)
        await logged(here)
        client = here.whole_client()
        pids = []
        for _ in range(3):
            pids.append(parent_of((await here.open_for(client.fork(here.job(), [here.rest_on]))).pid))
            assert pids[-1] is not None
            os.kill(pids[-1], signal.SIGKILL)
            assert await asyncio.to_thread(gone, pids[-1])
        assert len(set(pids)) == 3
        assert child.running

    run(tmp_path, story)


@pytest.mark.parametrize("killed", [Step.BOOSTERS, *thorough(*(step for step in Step if step != Step.BOOSTERS))])
def test_a_killed_zygote_ends_its_children_and_no_others(tmp_path: Path, killed: Step) -> None:
    async def story(here: Ground) -> None:
        forked = {step: await here.fork(WantedStep(step)) for step in (Step.BARE, Step.BOOSTERS)}
        forked[Step.WHOLE] = await here.open_for(here.fork(WHOLE))
        parents = {step: parent_of(child.pid) for step, child in forked.items()}
        assert len(set(parents.values())) == len(Step)
        parent, child = parents.pop(killed), forked.pop(killed)
        assert parent is not None
        os.kill(parent, signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
        assert await asyncio.to_thread(gone, child.pid)
        assert {step: parent_of(other.pid) for step, other in forked.items() if other.running} == parents
        assert parent_of((await here.fork(WantedStep(Step.BARE))).pid) in parents.values()

    run(tmp_path, story)


def test_a_whole_zygote_that_cannot_import_ends_no_one_but_those_who_wait_for_it(tmp_path: Path) -> None:
    async def story(here: Ground) -> None:
        child = await here.fork(GUESSED)
        await logged(here)
        asked = asyncio.create_task(here.whole_client().fork(here.job(), [here.rest_on]))
        await here.open("broken")
        with pytest.raises(ConnectionError):
            await asked
        assert child.running
        assert (await here.fork(BOOSTERS)).running

    run(tmp_path, story)


def test_zygotes_end_together_once_nothing_has_run_for_a_while_and_come_back(tmp_path: Path) -> None:
    async def story(here: Ground) -> None:
        first = await here.fork(BOOSTERS)
        low = parent_of(first.pid)
        retiring = asyncio.create_task(here.parent.retire(0.02))
        first.kill()
        assert low is not None
        assert await asyncio.to_thread(gone, low)
        retiring.cancel()
        assert parent_of((await here.fork(BOOSTERS)).pid) != low

    run(tmp_path, story)
