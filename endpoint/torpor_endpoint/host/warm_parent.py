"""Keeps the zygote of this machine: it starts when a process is wanted, and ends when none has run for a while.

Instances on this machine and training jobs are its children.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from torpor_container.processes.zygote_client import Child, Job, OwnedZygote, ZygoteClient

RETIRE_PERIOD_S = 5.0


class WarmParent:
    """The zygote, whichever lives now. `folder` holds its socket; `start` starts one that listens at the given path."""

    def __init__(self, folder: Path, start: Callable[[Path], Awaitable[OwnedZygote]] = OwnedZygote.start) -> None:
        self._folder = folder
        self._start = start
        self._zygote: OwnedZygote | None = None
        self._used = asyncio.Lock()  # held while it starts, forks or ends

    async def fork(self, job: Job, descriptors: Sequence[int]) -> Child:
        """Start a child with these descriptors. It finds the zygote's socket in TORPOR_WARM_PARENT.

        Raises OSError, ValueError.
        """
        async with self._used:
            try:
                return await self._forked(job, descriptors)
            except ConnectionError:  # the zygote was killed a moment ago, and its end is not noticed yet
                await self._dismiss()
                return await self._forked(job, descriptors)

    async def zygote(self) -> ZygoteClient:
        """The running zygote, for other processes that must end with the endpoint."""
        async with self._used:
            return await self._living()

    async def retire(
        self, busy: Callable[[], bool], idle_s: float, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """Watch the zygote for ever, and end it after `idle_s` without any process: then only the endpoint runs.

        `busy` says whether the zygote has children.
        """
        idle_since_s = monotonic()
        while True:
            await pause(min(idle_s, RETIRE_PERIOD_S))
            if self._used.locked() or busy():
                idle_since_s = monotonic()
            elif self._zygote is not None and monotonic() - idle_since_s >= idle_s:
                await self.close()

    async def close(self) -> None:
        """End the zygote and its children. Another one starts when it is wanted."""
        async with self._used:
            await self._dismiss()

    async def _forked(self, job: Job, descriptors: Sequence[int]) -> Child:
        zygote = await self._living()
        environment = {**job.environment, "TORPOR_WARM_PARENT": str(zygote.path)}
        return await zygote.fork(replace(job, environment=environment), descriptors)

    async def _living(self) -> OwnedZygote:
        """The zygote that runs, or a new one. Each has a socket of its own, so that an old socket is never reused."""
        if self._zygote is not None and not self._zygote.running:
            await self._dismiss()
        if self._zygote is None:
            self._zygote = await self._start(self._folder / f"warm-{secrets.token_hex(4)}")
        return self._zygote

    async def _dismiss(self) -> None:
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await zygote.close()
