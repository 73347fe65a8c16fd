"""Scripts in real processes, over real sockets, each ended with its block."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

from torpor_container.formats.script.process import ScriptProcess


class Subprocess:
    """A child process handle over asyncio's."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()

    async def wait(self) -> int:
        return await self._process.wait()


@asynccontextmanager
async def started(
    directory: Path,
    memory_bytes: int | None = None,
    program: str = "inference.py",
    errors: IO[bytes] | int = subprocess.DEVNULL,
) -> AsyncIterator[ScriptProcess]:
    """A script's process over a real socket, ended with the block. `errors` is its standard error."""
    ours, theirs = socket.socketpair()
    arguments = {"directory": str(directory), "script": program, "memory_bytes": memory_bytes}
    code = f"from torpor_container.formats.script.child import start; start({arguments!r}, [{theirs.fileno()}])"
    with theirs:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, pass_fds=[theirs.fileno()], stderr=errors
        )
    process = ScriptProcess(ours, Subprocess(child))
    try:
        yield process
    finally:
        await process.close()


def write_script(directory: Path, source: str, name: str = "inference.py") -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path
