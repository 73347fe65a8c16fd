"""Starts user scripts, each in processes of its own forked from a zygote."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from torpor_container.core.turns import Sharing, Turns
from torpor_container.errors import LoadFailed
from torpor_container.formats import Conventions
from torpor_container.formats.script import root_of
from torpor_container.formats.script.aws_variables import Place, environment
from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.isolation.abilities import Abilities
from torpor_container.measuring.effort import CLOCKS, Effort
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.threads import Threads
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import Child, Job
from torpor_container.running.predicting import Predictors
from torpor_container.running.requirements import Requirements
from torpor_container.running.runners import Scripted
from torpor_container.running.script_boxes import ScriptBoxes, removed
from torpor_container.settings import Settings
from torpor_container.typed_json import written

START = "torpor_container.formats.script.child_main:start"
WATCH = "torpor_container.isolation.script_watch:start"
OUTPUT = (1, 2)


class StartedWorker(NamedTuple):
    """A process of a script that has loaded, what that took, and how it is ended."""

    process: ScriptProcess
    effort: Effort
    close: Callable[[], Awaitable[None]]


class StartedScript(NamedTuple):
    """A script that has loaded in all its processes, and the effort of the one that worked longest. Before that, it
    waited `once_s` for its packages, and `imports_s` for a parent process with all libraries."""

    runner: Scripted
    effort: Effort
    once_s: float
    imports_s: float


class Scripts:
    """Starts the script processes of one instance. Their output goes where the instance's output goes."""

    def __init__(
        self,
        settings: Settings,
        memory: MemoryBudget,
        conventions: Conventions,
        zygote: ZygoteAccess,
        environment: Mapping[str, str],
        installer: Mapping[str, str] | None = None,
        at_least_bytes: int = 0,
        abilities: Abilities | None = None,
    ) -> None:
        """A script may take as much as `memory` has when it starts, or `at_least_bytes`. `environment` has the
        container's variables; scripts also get those that AWS's images set. `installer` has the variables for an
        installer of packages, if not those of this process; `abilities` are the machine's, if not those it has."""
        self._settings = settings
        self._memory = memory
        self._at_least_bytes = at_least_bytes
        self._conventions = conventions
        self._zygote = zygote
        self._environment = without_credentials(environment) if settings.script_network == "refuse" else environment
        self._requirements = Requirements(settings.requirements, Path(settings.base_dir), installer or os.environ)
        self._boxes = ScriptBoxes(settings, abilities) if settings.script_box else None

    async def start(
        self, directory: Path, script: Path, compiled: Path | None = None, predictors: Predictors | None = None
    ) -> StartedScript:
        """Run the script's workers side by side, and wait until all have loaded. `compiled` is where its modules are
        compiled for its next start; `predictors` gives its turns, which it need not share with others if that is None.
        Raises LoadFailed, LoadOutOfMemory."""
        began_s = CLOCKS.wall()
        root = root_of(script, self._settings.program)
        packages = await self._requirements.met(root, directory, self._settings.load_timeout_s)
        once_s = CLOCKS.wall() - began_s
        count = self._settings.script_workers
        starts = [asyncio.create_task(self._start_worker(directory, script, packages, compiled)) for _ in range(count)]
        async with AsyncExitStack() as unless_all:
            unless_all.push_async_callback(_abandon, starts)
            workers = await asyncio.gather(*starts)
            unless_all.pop_all()
        effort = max((worker.effort for worker in workers), key=attrgetter("work_s"))
        closed = partial(_close_all, workers)
        runner = Scripted([worker.process for worker in workers], closed, predictors or _alone())
        imports_s = max(worker.process.imports_s for worker in workers)
        loaded_s = CLOCKS.wall() - began_s - once_s - imports_s
        return StartedScript(runner, effort._replace(wall_s=loaded_s), once_s, imports_s)

    async def _start_worker(
        self, directory: Path, script: Path, packages: Path | None, compiled: Path | None
    ) -> "StartedWorker":
        async with AsyncExitStack() as unfinished:
            scratch = self._boxes.make_scratch() if self._boxes is not None else None
            if scratch is not None:
                unfinished.push_async_callback(removed, scratch)
            process = await self._start_process(directory, script, packages, scratch, compiled)
            unfinished.push_async_callback(process.close)
            try:
                effort = await process.loaded(self._settings.load_timeout_s)
            except TimeoutError:
                raise LoadFailed(f"the script did not load within {self._settings.load_timeout_s:g} s") from None
            return StartedWorker(process, effort, unfinished.pop_all().aclose)

    async def _start_process(
        self, directory: Path, script: Path, packages: Path | None, scratch: Path | None, compiled: Path | None
    ) -> ScriptProcess:
        ours, theirs = socket.socketpair()
        with theirs, ExitStack() as unfinished:
            unfinished.enter_context(ours)
            child = await self._fork(directory, script, packages, theirs, scratch, compiled)
            unfinished.pop_all()
        return ScriptProcess(ours, child)

    async def _fork(
        self,
        directory: Path,
        script: Path,
        packages: Path | None,
        theirs: socket.socket,
        scratch: Path | None,
        compiled: Path | None,
    ) -> Child:
        root, memory_bytes = root_of(script, self._settings.program), max(self._memory.size_bytes, self._at_least_bytes)
        box = None
        if self._boxes is not None and scratch is not None:
            reads = (root, packages) if packages else (root,)
            box = written(self._boxes.box(scratch, directory, reads, memory_bytes, compiled))
        arguments = {
            "directory": str(directory),
            "script": str(script),
            "root": str(root),
            "packages": str(packages) if packages else None,
            "memory_bytes": memory_bytes,
            "conventions": written(self._conventions.within(self._memory.size_bytes)),
            "environment": environment(Place(directory, script, self._environment)),
        }
        job = Job(START, arguments, guarded=True)
        if box is not None:
            job = Job(START, {**arguments, "box": box}, guarded=True, watch=WATCH, watch_arguments=box)
        try:
            return await self._zygote.fork(job, [theirs.fileno(), *OUTPUT])
        except (OSError, ValueError) as error:
            raise LoadFailed(f"no process could be started for the script: {error}") from error


async def _abandon(starts: "Sequence[asyncio.Task[StartedWorker]]") -> None:
    for start in starts:
        start.cancel()
    ends = await asyncio.gather(*starts, return_exceptions=True)
    await _close_all([end for end in ends if isinstance(end, StartedWorker)])


async def _close_all(workers: Sequence[StartedWorker]) -> None:
    """End all side by side, since one that does not end takes a second or two. A cancelled caller still waits for that:
    nobody else has them."""
    ending = asyncio.gather(*(worker.close() for worker in workers), return_exceptions=True)
    try:
        ended = await asyncio.shield(ending)
    finally:
        if not ending.done():
            await asyncio.wait([ending])
    for failure in ended:
        if isinstance(failure, BaseException):
            raise failure


def _alone() -> Predictors:
    return Predictors(Threads(1, "predict"), Turns(Sharing()), CLOCKS.wall)


def without_credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables without those that lead to a role's credentials. AWS: with network isolation "no AWS credentials
    are made available to the container runtime environment"."""
    return {name: value for name, value in environment.items() if not name.startswith("AWS_CONTAINER_")}
