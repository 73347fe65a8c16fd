"""Finds the zygote from which an instance forks: the endpoint's, or one of its own, started when first needed."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from torpor_container.processes.zygote_client import Child, Job, OwnedZygote, ZygoteClient


class ZygoteAccess:
    """Forks children. `path` is the socket of the endpoint's zygote; empty for an instance that runs alone."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._own: OwnedZygote | None = None
        self._sockets: tempfile.TemporaryDirectory[str] | None = None
        self._starting = asyncio.Lock()

    async def fork(self, job: Job, descriptors: Sequence[int] = ()) -> Child:
        """Fork a child. Raises OSError when there is no zygote."""
        zygote = await self._zygote()
        try:
            return await zygote.fork(job, descriptors)
        except ConnectionError:
            if self._path:
                raise
            async with self._starting:
                if zygote is self._own:  # it has just ended, and has not been waited for
                    await self.close()
            return await (await self._zygote()).fork(job, descriptors)

    async def close(self) -> None:
        own, self._own = self._own, None
        sockets, self._sockets = self._sockets, None
        if own is not None:
            await own.close()
        if sockets is not None:
            sockets.cleanup()

    async def _zygote(self) -> ZygoteClient:
        if self._path:
            return ZygoteClient(Path(self._path))
        async with self._starting:
            if self._own is None or not self._own.running:
                await self.close()  # the old one has ended
                self._sockets = tempfile.TemporaryDirectory(prefix="torpor-")
                self._own = await OwnedZygote.start(Path(self._sockets.name) / "warm")
        return self._own
