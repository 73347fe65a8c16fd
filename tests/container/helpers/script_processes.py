"""Scripts in processes forked from a zygote, as an instance has them, each ended with its block."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

from torpor_container.formats import Conventions
from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.processes.zygote_client import Job, ZygoteClient
from torpor_container.running.scripts import START


@asynccontextmanager
async def started(
    parent: ZygoteClient,
    directory: Path,
    memory_bytes: int | None = None,
    program: str = "inference.py",
    conventions: Conventions | None = None,
) -> AsyncIterator[ScriptProcess]:
    """A script's process over a real socket, ended with the block."""
    ours, theirs = socket.socketpair()
    arguments = {
        "directory": str(directory),
        "script": program,
        "memory_bytes": memory_bytes,
        "conventions": asdict(conventions or Conventions()),
    }
    with theirs:
        child = await parent.fork(Job(START, arguments, log=Path(os.devnull), guarded=True), [theirs.fileno()])
    process = ScriptProcess(ours, child)
    try:
        yield process
    finally:
        await process.close()


def write_script(directory: Path, source: str, name: str = "inference.py") -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path
