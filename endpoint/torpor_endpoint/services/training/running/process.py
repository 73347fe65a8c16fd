"""Runs a job's command as a child of the zygote, so that it and all it starts end with the endpoint, however."""

import asyncio
import os
from asyncio import StreamReader, StreamReaderProtocol
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from torpor_container.processes.inherited_variables import OF_INSTALLERS
from torpor_container.processes.zygote_client import Child, Job, ZygoteClient
from torpor_endpoint.services.training.running.output import Output

PIECE_BYTES = 64 * 1024
LAST_WORDS_S = 1.0
"""How long output is awaited after the end: whoever still holds the pipe then has left the script's session."""


class How(Enum):
    BY_ITSELF = "by itself"
    TOLD = "told to stop"
    TOO_LONG = "ran too long"


@dataclass(frozen=True)
class ScriptEnd:
    """How a script ended; `code` is what a container's would be: 128 + N for signal N."""

    how: How
    code: int


@dataclass(frozen=True)
class Ending:
    """When a script has to end: after `runtime_s`, or when `stop` is set, and `grace_s` after it was told.

    "SageMaker sends the algorithm the SIGTERM signal, which delays job termination for 120 seconds."
    """

    stop: asyncio.Event
    runtime_s: float
    grace_s: float


def script(launch: Path, forgotten: tuple[str, ...]) -> Job:
    """What the file `launch` says, as a job of the zygote."""
    return Job(
        "torpor_endpoint.services.training.running.child:start",
        {"launch": str(launch)},
        forgotten=(*forgotten, *OF_INSTALLERS),
    )


async def run(parent: ZygoteClient, job: Job, output: Output, ending: Ending) -> ScriptEnd:
    """Raises OSError when no process can be had. Cancelled, this kills it at once."""
    async with _pipe_into(output) as writer:
        child = await _forked(parent, job, writer)
        try:
            how = await _until(child, ending)
            code = await child.wait()
        finally:
            child.kill()
            await child.wait()
    return ScriptEnd(how, code if code >= 0 else 128 - code)


async def _forked(parent: ZygoteClient, job: Job, writer: int) -> Child:
    try:
        return await parent.fork(job, [writer])
    finally:
        os.close(writer)


async def _until(child: Child, ending: Ending) -> How:
    exit_, told = asyncio.ensure_future(child.wait()), asyncio.ensure_future(ending.stop.wait())
    try:
        await asyncio.wait({exit_, told}, timeout=ending.runtime_s, return_when=asyncio.FIRST_COMPLETED)
        if exit_.done():
            return How.BY_ITSELF
        how = How.TOLD if told.done() else How.TOO_LONG
        child.terminate()
        await asyncio.wait({exit_}, timeout=ending.grace_s)
        child.kill()
        return how
    finally:
        exit_.cancel()
        told.cancel()


@asynccontextmanager
async def _pipe_into(output: Output) -> AsyncIterator[int]:
    """The writing end of a pipe, for whoever takes it to close. What comes through is in the output afterwards."""
    descriptor, writer = os.pipe()
    reader = StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: StreamReaderProtocol(reader), os.fdopen(descriptor, "rb"))
    draining = asyncio.ensure_future(_drain(reader, output))
    try:
        yield writer
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(draining, LAST_WORDS_S)
        transport.close()


async def _drain(reader: StreamReader, output: Output) -> None:
    while piece := await reader.read(PIECE_BYTES):
        output.write(piece)
