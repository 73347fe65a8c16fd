"""Runs instances as processes of this machine: a zygote forks them, and each listens on a Unix socket.

Each process has an owner: the endpoint owns the zygotes, and a zygote owns the instances that it forked. When a process
is killed, the processes that it owns end too, so that none outlives the endpoint.
"""

import asyncio
import os
import secrets
import shutil
import signal
import socket
from collections.abc import Collection
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from torpor_container.processes.zygote_client import Child, Job
from torpor_container.waiting.quiet_timeout import patiently
from torpor_endpoint.core.warm_steps import WantedStep, wanted
from torpor_endpoint.host import HostError, Launched, LaunchSpec, Phase, Slot
from torpor_endpoint.host.disks import Disks
from torpor_endpoint.host.exits import exit_reason
from torpor_endpoint.host.launch_names import log_name
from torpor_endpoint.host.processor_shares import CORES, ProcessorShares
from torpor_endpoint.host.strays import end_strays
from torpor_endpoint.host.warm_parent import WarmParent

LAST_GRACE_S = 0.5
"""How long an instance has to end when the endpoint itself stops."""
FORK_TIMEOUT_S = 60.0
"""A fork takes milliseconds. The first one waits for the zygote's imports, which take long on a slow disk."""


@dataclass
class RunningInstance:
    """One incarnation and the process behind it."""

    launched: Launched
    socket: str
    child: Child
    base_dir: str


class LocalHost:
    """Instances on this machine, as children of its zygotes. What runs ends with the endpoint: nothing is adopted.

    `folder` holds their sockets. It is emptied and made private, and must have a short path: a socket's path has at
    most 107 characters.
    """

    def __init__(self, folder: Path, disks: Disks, warm_parent: WarmParent) -> None:
        self._folder = folder
        self._disks = disks
        self._warm_parent = warm_parent
        self._running: dict[Slot, RunningInstance] = {}
        self._starting = asyncio.Lock()
        self._processors = ProcessorShares()
        shutil.rmtree(folder, ignore_errors=True)  # sockets of an earlier endpoint
        folder.mkdir(mode=0o700, parents=True)

    async def open(self, kept: Collection[tuple[str, str]]) -> None:
        await asyncio.to_thread(end_strays, str(self._disks.folder))  # of an endpoint that was killed
        await asyncio.to_thread(self._disks.sweep, kept)

    async def launch(self, spec: LaunchSpec) -> Launched:
        async with self._starting:
            present = self.health(spec.slot)
            if present is None or not present.serves(spec):
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
        self._processors.free(running.launched.incarnation)

    def list(self) -> tuple[Launched, ...]:
        return tuple(_with_phase(running) for running in self._running.values())

    async def placed(self, slot: Slot) -> Launched:
        return _with_phase(self._running[slot])

    async def exited(self, slot: Slot) -> Launched:
        running = self._running[slot]
        code = await running.child.wait()
        return replace(running.launched, phase=Phase.EXITED, reason=exit_reason(code))

    def health(self, slot: Slot) -> Launched | None:
        running = self._running.get(slot)
        return _with_phase(running) if running is not None else None

    def signal(self, slot: Slot, number: signal.Signals) -> None:
        """Send a signal to the slot's instance. An empty slot is no error."""
        running = self._running.get(slot)
        if running is not None and running.child.running:
            with suppress(ProcessLookupError):
                os.kill(running.child.pid, number)

    async def vacate(self, endpoint: str, variant: str | None = None) -> None:
        await asyncio.to_thread(shutil.rmtree, self._disks.put_aside(endpoint, variant), ignore_errors=True)

    async def close(self) -> None:
        await asyncio.gather(*(self.terminate(slot, LAST_GRACE_S) for slot in tuple(self._running)))
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _start(self, spec: LaunchSpec) -> Launched:
        name = f"i-{secrets.token_hex(8)}"
        address, base_dir = str(self._folder / name), str(self._disks.of(spec.slot, spec.role))
        log = spec.logs and spec.logs / log_name(spec, name)
        mapped = str(self._disks.mapped_of(spec.slot, spec.role))
        folders = {"SAGEMAKER_BASE_DIR": base_dir, "TORPOR_MAPPED_FOLDER": mapped}
        environment = {**spec.environment, **folders, "TORPOR_VERDICTS_FOLDER": str(self._disks.verdicts)}
        if (cores := environment.pop(CORES, "")) != "":
            environment |= self._processors.bounds(name, float(cores))
        job = Job("torpor_container.forked_instance:start", {}, environment, log, spec.forgotten)
        with ExitStack() as unfinished:
            unfinished.callback(_forget, address)
            unfinished.callback(self._processors.free, name)
            try:
                async with patiently(FORK_TIMEOUT_S):
                    child = await self._fork(job, address, wanted(environment, self._disks.step_of(spec.slot)))
            except (OSError, ValueError) as error:  # TimeoutError is an OSError
                raise HostError(f"the instance could not be started: {error or 'no answer in time'}") from error
            unfinished.pop_all()
        launched = Launched(spec.slot, name, address, Phase.RUNNING, log=log, configuration=spec.configuration)
        self._running[spec.slot] = RunningInstance(launched, address, child, base_dir)
        return launched

    async def _fork(self, job: Job, address: str, needs: WantedStep) -> Child:
        if job.log is not None:
            job.log.parent.mkdir(parents=True, exist_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(address)
            listener.listen(1024)
            return await self._warm_parent.fork(job, [listener.fileno()], needs)


async def _ended(running: RunningInstance, grace_s: float) -> None:
    running.child.terminate()
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(running.child.wait(), grace_s)
    finally:
        running.child.kill()  # also when this task is cancelled: the process must not go on
        _forget(running.socket)
    await running.child.wait()
    await asyncio.to_thread(end_strays, running.base_dir)


def _forget(address: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(address)


def _with_phase(running: RunningInstance) -> Launched:
    if running.child.running:
        return running.launched
    return replace(running.launched, phase=Phase.EXITED, reason="its process ended")
