"""Starts user scripts, each in a process of its own forked from a warm parent: the endpoint's, or one of our own."""

import asyncio
import socket
import tempfile
from dataclasses import asdict
from pathlib import Path

from torpor_container.errors import LoadFailed
from torpor_container.formats import Conventions
from torpor_container.formats.script.process import ScriptProcess
from torpor_container.runners import Scripted
from torpor_container.settings import Settings
from torpor_container.warm import Child, Job, OwnedWarmParent, WarmParent

START = "torpor_container.formats.script.child:start"


class Scripts:
    """The instance's way to script processes. It starts a warm parent only when it has none and a script needs one."""

    def __init__(self, settings: Settings, conventions: Conventions) -> None:
        self._settings = settings
        self._conventions = conventions
        self._own: OwnedWarmParent | None = None
        self._sockets: tempfile.TemporaryDirectory[str] | None = None
        self._starting = asyncio.Lock()

    async def start(self, directory: Path, script: Path) -> Scripted:
        """Run the script, and wait until it has loaded. Raises LoadFailed, LoadOutOfMemory."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = ScriptProcess(ours, await self._fork(directory, script, ours, theirs))
        try:
            await process.loaded(self._settings.load_timeout_s)
        except TimeoutError:
            await process.close()
            raise LoadFailed(f"the script did not load within {self._settings.load_timeout_s:g} s") from None
        except BaseException:
            await process.close()
            raise
        return Scripted(process)

    async def close(self) -> None:
        if self._own is not None:
            await self._own.close()
        if self._sockets is not None:
            self._sockets.cleanup()

    async def _fork(self, directory: Path, script: Path, ours: socket.socket, theirs: socket.socket) -> Child:
        arguments = {
            "directory": str(directory),
            "script": str(script),
            "memory_bytes": self._settings.memory_bytes,
            "conventions": asdict(self._conventions),
        }
        try:
            return await (await self._warm_parent()).fork(Job(START, arguments), [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise LoadFailed(f"no process could be started for the script: {error}") from error
        except BaseException:
            ours.close()
            raise

    async def _warm_parent(self) -> WarmParent:
        if self._settings.warm_parent:
            return WarmParent(Path(self._settings.warm_parent))
        async with self._starting:
            if self._own is None or not self._own.running:
                self._sockets = tempfile.TemporaryDirectory(prefix="torpor-")
                self._own = await OwnedWarmParent.start(Path(self._sockets.name) / "warm")
        return self._own
