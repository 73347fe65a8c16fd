"""The first host: instances are processes of this machine, forked from a zygote, on Unix sockets.

Every process belongs to somebody: an instance to its line to the zygote, the zygote to this process. When
one is killed, what it owned is killed too, and nothing outlives the endpoint.
"""

import asyncio
import os
import secrets
import shutil
import socket
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from torpor_container.processes.zygote_client import Child, Job, OwnedZygote, ZygoteClient
from torpor_endpoint.host import HostError, Launched, LaunchSpec, Phase, Slot
from torpor_endpoint.host.strays import end_strays

RETIRE_PERIOD_S = 5.0
LAST_GRACE_S = 0.5
"""For an instance that still runs when its endpoint stops."""
FORK_TIMEOUT_S = 60.0
"""A fork takes milliseconds; the first one waits for the zygote's imports, on a slow disk for long."""


@dataclass
class RunningInstance:
    """One incarnation and the process behind it."""

    launched: Launched
    child: Child
    base_dir: str


class LocalHost:
    """Instances on this machine. `folder` is emptied, private and short: a socket's path has 107 characters at most.

    `start` starts a zygote that listens at the path given.
    """

    def __init__(self, folder: Path, start: Callable[[Path], Awaitable[OwnedZygote]] = OwnedZygote.start) -> None:
        self._folder = folder
        self._start_zygote = start
        self._running: dict[Slot, RunningInstance] = {}
        self._zygote: OwnedZygote | None = None
        self._starting = asyncio.Lock()
        shutil.rmtree(folder, ignore_errors=True)  # sockets that an earlier endpoint left behind
        folder.mkdir(mode=0o700, parents=True)

    async def launch(self, spec: LaunchSpec) -> Launched:
        async with self._starting:
            present = self.health(spec.slot)
            if present is None or present.phase is Phase.EXITED:
                await self.terminate(spec.slot, 0.0)  # what an ended one left behind
                present = await self._start(spec)
            return present

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        running = self._running.pop(slot, None)
        if running is None:
            return
        try:
            await _ended(running, grace_s)
        except asyncio.CancelledError:
            self._running.setdefault(slot, running)  # it is killed, and whoever terminates next sees it out
            raise

    def list(self) -> tuple[Launched, ...]:
        return tuple(_present(running) for running in self._running.values())

    async def exited(self, slot: Slot) -> Launched:
        running = self._running[slot]
        code = await running.child.wait()
        return replace(running.launched, phase=Phase.EXITED, reason=_how(code))

    def health(self, slot: Slot) -> Launched | None:
        running = self._running.get(slot)
        return _present(running) if running is not None else None

    async def retire(
        self, busy: Callable[[], bool], idle_s: float, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """End the zygote when nobody has needed it for so long, for ever: at zero only the endpoint runs.

        `busy` tells whether processes that are not instances were forked from it.
        """
        idle_since_s = monotonic()
        while True:
            await pause(min(idle_s, RETIRE_PERIOD_S))
            if self._running or self._starting.locked() or busy():
                idle_since_s = monotonic()
            elif self._zygote is not None and monotonic() - idle_since_s >= idle_s:
                async with self._starting:
                    await self._dismiss_zygote()

    async def zygote(self) -> ZygoteClient:
        """For other work that forks processes which must end with the endpoint."""
        async with self._starting:
            return await self._living_zygote()

    async def close(self) -> None:
        await asyncio.gather(*(self.terminate(slot, LAST_GRACE_S) for slot in tuple(self._running)))
        await self._dismiss_zygote()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _start(self, spec: LaunchSpec) -> Launched:
        name = f"i-{secrets.token_hex(8)}"
        log = spec.logs / f"{name}.log" if spec.logs is not None else None
        launched = Launched(spec.slot, name, str(self._folder / name), Phase.RUNNING, log=log)
        with ExitStack() as unfinished:
            unfinished.callback(_forget, launched)
            try:
                async with asyncio.timeout(FORK_TIMEOUT_S):
                    child = await self._fork(spec, launched)
            except (OSError, ValueError) as error:  # TimeoutError is one of the first
                raise HostError(f"the instance could not be started: {error or 'no answer in time'}") from error
            unfinished.pop_all()
        self._running[spec.slot] = RunningInstance(launched, child, spec.environment.get("SAGEMAKER_BASE_DIR", ""))
        return launched

    async def _fork(self, spec: LaunchSpec, launched: Launched) -> Child:
        if launched.log is not None:
            launched.log.parent.mkdir(parents=True, exist_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(launched.socket)
            listener.listen(1024)
            try:
                return await self._forked(spec, launched, listener.fileno())
            except ConnectionError:  # the zygote was killed a moment ago: nobody has waited for it yet
                await self._dismiss_zygote()
                return await self._forked(spec, launched, listener.fileno())

    async def _forked(self, spec: LaunchSpec, launched: Launched, listener: int) -> Child:
        parent = await self._living_zygote()
        environment = {**spec.environment, "TORPOR_WARM_PARENT": str(parent.path)}
        job = Job("torpor_container.forked_instance:start", {}, environment, launched.log, spec.forgotten)
        return await parent.fork(job, [listener])

    async def _living_zygote(self) -> OwnedZygote:
        """Each has a socket of its own: what one leaves behind is never taken for another's."""
        if self._zygote is not None and not self._zygote.running:
            await self._dismiss_zygote()
        if self._zygote is None:
            self._zygote = await self._start_zygote(self._folder / f"warm-{secrets.token_hex(4)}")
        return self._zygote

    async def _dismiss_zygote(self) -> None:
        parent, self._zygote = self._zygote, None
        if parent is not None:
            await parent.close()


async def _ended(running: RunningInstance, grace_s: float) -> None:
    running.child.terminate()
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(running.child.wait(), grace_s)
    finally:
        running.child.kill()  # whoever is told to stop waiting for it does not leave it running
        _forget(running.launched)
    await running.child.wait()
    await asyncio.to_thread(end_strays, running.base_dir)


def _forget(launched: Launched) -> None:
    with suppress(FileNotFoundError):
        os.unlink(launched.socket)


def _present(running: RunningInstance) -> Launched:
    if running.child.running:
        return running.launched
    return replace(running.launched, phase=Phase.EXITED, reason="its process ended")


def _how(code: int) -> str:
    if code == 0:
        return "it ended"
    return f"its process was ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"
