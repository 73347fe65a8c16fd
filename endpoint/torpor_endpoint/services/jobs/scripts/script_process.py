"""Runs a job's command as a child of the zygote, so that the script and its children always end with the endpoint."""

import asyncio
import os
from asyncio import StreamReader, StreamReaderProtocol
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from enum import Enum
from pathlib import Path

from torpor_container.frozen_class import frozen
from torpor_container.processes.inherited_variables import OF_INSTALLERS
from torpor_container.processes.zygote_client import Child, Job
from torpor_container.waiting.quiet_timeout import patiently
from torpor_endpoint.services.jobs.scripts.script_output import Output

PIECE_BYTES = 64 * 1024
LAST_WORDS_S = 1.0
"""How long to wait for output after the script's end. A process that still has the pipe then has left its session."""


Fork = Callable[[Job, Sequence[int]], Awaitable[Child]]
"""Forks a child with these descriptors, which ends with the endpoint. Raises OSError."""


class How(Enum):
    """How a script ended."""

    BY_ITSELF = "by itself"
    STOPPED = "stopped"
    TOO_LONG = "ran too long"


@frozen
class ScriptEnd:
    """The end of a script. `code` is the exit code that a container would have: 128 + N for signal N."""

    how: How
    code: int


@frozen
class Ending:
    """When to end a script: after `runtime_s` or when `stop` is set, by SIGTERM, and `grace_s` later by SIGKILL.

    "SageMaker sends the algorithm the SIGTERM signal, which delays job termination for 120 seconds."
    """

    stop: asyncio.Event
    runtime_s: float
    grace_s: float


def script(launch: Path, forgotten: tuple[str, ...]) -> Job:
    """The command in the file `launch`, as a job of the zygote."""
    return Job(
        "torpor_endpoint.services.jobs.scripts.script_child:start",
        {"launch": str(launch)},
        forgotten=(*forgotten, *OF_INSTALLERS),
    )


async def run(fork: Fork, job: Job, output: Output, ending: Ending) -> ScriptEnd:
    """Run the script to its end. Raises OSError if it cannot be started. If cancelled, it kills the script at once."""
    async with _pipe_into(output) as writer:
        child = await _forked(fork, job, writer)
        try:
            how = await _until(child, ending)
            code = await child.wait()
        finally:
            child.kill()
            await child.wait()
    return ScriptEnd(how, code if code >= 0 else 128 - code)


async def _forked(fork: Fork, job: Job, writer: int) -> Child:
    try:
        return await fork(job, [writer])
    finally:
        os.close(writer)


async def _until(child: Child, ending: Ending) -> How:
    exit_, stopped = asyncio.ensure_future(child.wait()), asyncio.ensure_future(ending.stop.wait())
    try:
        await asyncio.wait({exit_, stopped}, timeout=ending.runtime_s, return_when=asyncio.FIRST_COMPLETED)
        if exit_.done():
            return How.BY_ITSELF
        how = How.STOPPED if stopped.done() else How.TOO_LONG
        child.terminate()
        await asyncio.wait({exit_}, timeout=ending.grace_s)
        child.kill()
        return how
    finally:
        exit_.cancel()
        stopped.cancel()


@asynccontextmanager
async def _pipe_into(output: Output) -> AsyncIterator[int]:
    """The writing end of a pipe, which the caller closes. After the block the output has all that was written."""
    descriptor, writer = os.pipe()
    reader = StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: StreamReaderProtocol(reader), os.fdopen(descriptor, "rb"))
    draining = asyncio.ensure_future(_drain(reader, output))
    try:
        yield writer
    finally:
        with suppress(TimeoutError):
            async with patiently(LAST_WORDS_S):
                await draining
        transport.close()


async def _drain(reader: StreamReader, output: Output) -> None:
    while piece := await reader.read(PIECE_BYTES):
        output.write(piece)
