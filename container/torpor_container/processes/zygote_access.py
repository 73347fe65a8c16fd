"""Finds the zygote from which an instance forks: the endpoint's, or one of its own, started when first needed."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torpor_container.processes.import_steps import Step
from torpor_container.processes.process_tree import own_bounds
from torpor_container.processes.zygote_client import Child, Job, OwnedZygote, ZygoteClient


class ZygoteAccess:
    """Forks children. `path` is the socket of the zygote that the instance was forked from, and empty for an instance
    that runs alone; `whole_path` is the socket of one with all libraries, if that is another."""

    def __init__(self, path: str, whole_path: str = "") -> None:
        self._paths = {Step.BOOSTERS: path, Step.WHOLE: whole_path or path}
        self.whole = bool(path) and self._paths[Step.WHOLE] == path
        self._own: dict[Step, OwnedZygote] = {}
        self._sockets: tempfile.TemporaryDirectory[str] | None = None
        self._starting = asyncio.Lock()

    async def fork(self, job: Job, descriptors: Sequence[int] = (), whole: bool = True) -> Child:
        """Fork a child, which has all libraries if `whole`, and the cores of this process. Raises OSError when there is
        no zygote."""
        job = replace(job, environment={**job.environment, **own_bounds()})
        step = Step.WHOLE if whole else Step.BOOSTERS
        zygote = await self._zygote(step)
        try:
            return await zygote.fork(job, descriptors)
        except ConnectionError:  # it has just ended, and another one takes its place
            return await (await self._zygote(step, zygote)).fork(job, descriptors)

    async def close(self) -> None:
        own, self._own = self._own, {}
        sockets, self._sockets = self._sockets, None
        await asyncio.gather(*(zygote.close() for zygote in own.values()))
        if sockets is not None:
            sockets.cleanup()

    async def _zygote(self, step: Step, ended: ZygoteClient | None = None) -> ZygoteClient:
        """The zygote of this step, which is not the one that has `ended`."""
        if path := self._paths[step]:
            return ZygoteClient(Path(path))
        async with self._starting:
            present = self._own.get(step)
            if present is None or present is ended or not present.running:
                if present is not None:
                    await present.close()
                if self._sockets is None:
                    self._sockets = tempfile.TemporaryDirectory(prefix="torpor-")
                own = Path(self._sockets.name) / step.name.lower()
                present = self._own[step] = await OwnedZygote.start(own, step=step)
        return present
