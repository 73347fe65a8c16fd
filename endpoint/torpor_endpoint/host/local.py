"""Runs instances as processes of this machine: a zygote forks them, and each listens on a Unix socket.

Each process has an owner: the endpoint owns the zygote, and the zygote owns the instances. When a process is killed,
the processes that it owns end too, so that none outlives the endpoint.
"""

import asyncio
import os
import secrets
import shutil
import signal
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
"""How long an instance has to end when the endpoint itself stops."""
FORK_TIMEOUT_S = 60.0
"""A fork takes milliseconds. The first one waits for the zygote's imports, which take long on a slow disk."""


@dataclass
class RunningInstance:
    """One incarnation and the process behind it."""

    launched: Launched
    child: Child
    base_dir: str


class LocalHost:
    """Instances on this machine.

    `folder` holds their sockets. It is emptied and made private, and must have a short path: a socket's path has at
    most 107 characters. `start` starts a zygote that listens at the given path.
    """

    def __init__(self, folder: Path, start: Callable[[Path], Awaitable[OwnedZygote]] = OwnedZygote.start) -> None:
        self._folder = folder
        self._start_zygote = start
        self._running: dict[Slot, RunningInstance] = {}
        self._zygote: OwnedZygote | None = None
        self._starting = asyncio.Lock()
        shutil.rmtree(folder, ignore_errors=True)  # sockets of an earlier endpoint
        folder.mkdir(mode=0o700, parents=True)

    async def launch(self, spec: LaunchSpec) -> Launched:
        async with self._starting:
            present = self.health(spec.slot)
            if present is None or present.phase is Phase.EXITED:
                await self.terminate(spec.slot, 0.0)  # what the last incarnation left behind
                present = await self._start(spec)
            return present

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        running = self._running.pop(slot, None)
        if running is None:
            return
        try:
            await _ended(running, grace_s)
        except asyncio.CancelledError:
            self._running.setdefault(slot, running)  # it was killed; the next call waits for its end
            raise

    def list(self) -> tuple[Launched, ...]:
        return tuple(_with_phase(running) for running in self._running.values())

    async def exited(self, slot: Slot) -> Launched:
        running = self._running[slot]
        code = await running.child.wait()
        return replace(running.launched, phase=Phase.EXITED, reason=_exit_reason(code))

    def health(self, slot: Slot) -> Launched | None:
        running = self._running.get(slot)
        return _with_phase(running) if running is not None else None

    def signal(self, slot: Slot, number: signal.Signals) -> None:
        """Send a signal to the slot's instance. An empty slot is no error."""
        running = self._running.get(slot)
        if running is not None and running.child.running:
            with suppress(ProcessLookupError):
                os.kill(running.child.pid, number)

    async def retire(
        self, busy: Callable[[], bool], idle_s: float, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """Watch the zygote for ever, and end it after `idle_s` without any process: then only the endpoint runs.

        `busy` says whether the zygote has children that are not instances, such as training jobs.
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
        """The running zygote, for other processes that must end with the endpoint."""
        async with self._starting:
            return await self._living_zygote()

    async def close(self) -> None:
        await asyncio.gather(*(self.terminate(slot, LAST_GRACE_S) for slot in tuple(self._running)))
        await self._dismiss_zygote()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _start(self, spec: LaunchSpec) -> Launched:
        name = f"i-{secrets.token_hex(8)}"
        log = spec.logs and spec.logs / _log_name(spec, name)
        launched = Launched(spec.slot, name, str(self._folder / name), Phase.RUNNING, log=log)
        with ExitStack() as unfinished:
            unfinished.callback(_forget, launched)
            try:
                async with asyncio.timeout(FORK_TIMEOUT_S):
                    child = await self._fork(spec, launched)
            except (OSError, ValueError) as error:  # TimeoutError is an OSError
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
            except ConnectionError:  # the zygote was killed a moment ago, and its end is not noticed yet
                await self._dismiss_zygote()
                return await self._forked(spec, launched, listener.fileno())

    async def _forked(self, spec: LaunchSpec, launched: Launched, listener: int) -> Child:
        zygote = await self._living_zygote()
        environment = {**spec.environment, "TORPOR_WARM_PARENT": str(zygote.path)}
        job = Job("torpor_container.forked_instance:start", {}, environment, launched.log, spec.forgotten)
        return await zygote.fork(job, [listener])

    async def _living_zygote(self) -> OwnedZygote:
        """The zygote that runs, or a new one. Each has a socket of its own, so that an old socket is never reused."""
        if self._zygote is not None and not self._zygote.running:
            await self._dismiss_zygote()
        if self._zygote is None:
            self._zygote = await self._start_zygote(self._folder / f"warm-{secrets.token_hex(4)}")
        return self._zygote

    async def _dismiss_zygote(self) -> None:
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await zygote.close()


async def _ended(running: RunningInstance, grace_s: float) -> None:
    running.child.terminate()
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(running.child.wait(), grace_s)
    finally:
        running.child.kill()  # also when this task is cancelled: the process must not go on
        _forget(running.launched)
    await running.child.wait()
    await asyncio.to_thread(end_strays, running.base_dir)


def _log_name(spec: LaunchSpec, incarnation: str) -> str:
    """As CloudWatch's log streams: the instance, and its container if it has several."""
    return f"{spec.instance or incarnation}/{spec.container}.log" if spec.container else f"{incarnation}.log"


def _forget(launched: Launched) -> None:
    with suppress(FileNotFoundError):
        os.unlink(launched.socket)


def _with_phase(running: RunningInstance) -> Launched:
    if running.child.running:
        return running.launched
    return replace(running.launched, phase=Phase.EXITED, reason="its process ended")


def _exit_reason(code: int) -> str:
    if code == 0:
        return "it ended"
    return f"its process was ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"
