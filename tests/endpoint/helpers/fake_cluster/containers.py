"""How a fake cluster starts a container: by the real command, or forked from a light zygote, which is sooner."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from torpor_container.processes.import_steps import Step
from torpor_container.processes.zygote_client import Job
from torpor_endpoint.core.warm_steps import WantedStep
from torpor_endpoint.host.warm_parent import WarmParent


class Container(Protocol):
    """A process that runs as a container."""

    async def wait(self) -> int: ...

    @property
    def running(self) -> bool: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


StartContainer = Callable[[Mapping[str, str], Path, socket.socket], Awaitable[Container]]
"""Starts one with its environment, its output's file and its listening socket."""


def forked(parent: WarmParent) -> StartContainer:
    async def start(environment: Mapping[str, str], log: Path, listener: socket.socket) -> Container:
        job = Job("torpor_container.forked_instance:start", {}, dict(environment), log)
        return await parent.fork(job, [listener.fileno()], WantedStep(Step.WHOLE))

    return start


async def served(environment: Mapping[str, str], log: Path, listener: socket.socket) -> Container:
    """`torpor-container serve`, as in the image, on the listener that another address needs."""
    command = [sys.executable, "-m", "torpor_container", "serve"]
    number = str(listener.fileno())
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**environment, "PATH": os.environ["PATH"], "TORPOR_LISTENER": number},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    return ServedContainer(process)


class ServedContainer:
    """A command that runs, in a session of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def wait(self) -> int:
        return await self._process.wait()

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    def terminate(self) -> None:
        with suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
