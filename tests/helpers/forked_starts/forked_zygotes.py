"""Forks zygotes from a process that has imported what a zygote of their step imports: each has the same modules as one
of its own start, in a tenth of the processor time."""

import asyncio
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from io import FileIO
from pathlib import Path

from tests.helpers.forked_starts import starting
from tests.helpers.forked_starts.forking_process import OWN_FROM
from tests.helpers.zygotes import LIGHT
from torpor_container.processes.import_steps import Step
from torpor_container.processes.zygote import LIBRARY_VARIABLES
from torpor_container.processes.zygote_client import ZYGOTE, OwnedZygote, ZygoteClient, ZygoteProcess

WITHOUT_LIBRARIES = "light zygote"
PROGRAM = Path(__file__).with_name("whole_zygote.py")


def prepare_zygotes(kind: str) -> None:
    """What a zygote of this kind does before it listens."""
    zygote = import_module("torpor_container.processes.zygote")
    os.environ.update(LIBRARY_VARIABLES)
    if kind == WITHOUT_LIBRARIES:
        zygote.preload(Step.BARE, lambda step: None)
    else:
        zygote.preload(Step[kind], import_module("torpor_container.processes.import_steps").reach)


@contextmanager
def whole_zygote(path: Path, variables: Mapping[str, str]) -> Iterator[int]:
    """A whole zygote that listens at `path`, as `zygotes.zygote` starts one. It ends with its block."""
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as closed:
        listener.bind(str(path))
        listener.listen(64)
        lifeline, held = os.pipe()
        closed.callback(os.close, lifeline)
        program = str(PROGRAM), str(listener.fileno()), "WHOLE"
        told = starting.sent("WHOLE", program, {**os.environ, **variables}, (lifeline, 1, 2), [listener.fileno()])
    process = starting.Forked(FileIO(told), FileIO(held, "w"))
    yield process.pid
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60.0) == 0


def fork_zygotes(address: bytes, owner: int) -> None:
    """In a forked program: its zygotes are forked too, by the process that has forked it."""
    starting.share(starting.SharedForking(address, os.getppid(), owner))
    OwnedZygote.start = partial(OwnedZygote.start, launch=launched)  # type: ignore[method-assign]


class SharedZygote(ZygoteClient):
    """The zygote of all tests that only fork from it, and its process."""

    def __init__(self, path: Path, pid: int) -> None:
        super().__init__(path)
        self.pid = pid


class ForkedZygote:
    """A forked zygote, as `asyncio` has processes."""

    def __init__(self, told: FileIO, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended = asyncio.ensure_future(self._watch(told))

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def _watch(self, told: FileIO) -> int:
        with told:
            self.returncode = await _number(told)
        return self.returncode


async def _number(told: FileIO) -> int:
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(told.fileno(), readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(told.fileno())
    return int(told.readline())


async def launched(
    *command: str, stdin: int, pass_fds: tuple[int, ...], start_new_session: bool, env: Mapping[str, str]
) -> ZygoteProcess:
    """Launch a zygote as `asyncio.create_subprocess_exec` does. What cannot be forked gets a process of its own."""
    *program, descriptor, step = command
    if tuple(program) == LIGHT:
        kind, forked = WITHOUT_LIBRARIES, command[1:]
    elif tuple(program) == ZYGOTE:
        kind, forked = step, (str(PROGRAM), descriptor, step)
    else:
        kind, forked = "", ()
    if not kind or max(pass_fds) >= OWN_FROM or not starting.can_be_forked(command, env, **LIBRARY_VARIABLES):
        return await asyncio.create_subprocess_exec(
            *command, stdin=stdin, pass_fds=pass_fds, start_new_session=start_new_session, env=env
        )
    told = FileIO(starting.sent(kind, forked, env, (stdin, 1, 2), pass_fds, starting.zygote_name(os.getpid())))
    return ForkedZygote(told, await _number(told))
