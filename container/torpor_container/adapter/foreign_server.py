"""Runs the processes of one foreign container, with their own ports and temporary folder, and stops them together."""

import asyncio
import hashlib
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from torpor_container.adapter.memory_bound import until_exceeded
from torpor_container.adapter.port_blocks import Block, free_block, private_folder, safe_range
from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_container.image.server_command import ServerCommand
from torpor_container.processes.memory import uss_bytes
from torpor_container.processes.process_tree import session
from torpor_container.processes.threads import on_thread
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import Child, Job
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_container.waiting.quiet_timeout import patiently

PING_TIMEOUT_S = 2.0
"""AWS: "the container must respond to ping requests within 2 seconds"."""
PING_PERIOD_S = 5.0
OPT_ML = "/opt/ml"
"""Where SageMaker has a container's models: `models/<id>/model` below it, or `model`."""
START_PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.25)
IDLE_MAX_S = 1.0
GRACE_S = 20.0
"""AWS gives a container 30 s between SIGTERM and SIGKILL; the instance around it needs the rest."""

log = logging.getLogger(__name__)


class ForeignServer:
    """One foreign container. It calls `ended` when its process ends by itself: SageMaker replaces the instance then. It
    is ended if all its processes hold more than `most_bytes` of memory."""

    def __init__(
        self,
        command: ServerCommand,
        base_dir: Path,
        zygote: ZygoteAccess,
        ended: Callable[[], None],
        most_bytes: int | None = None,
    ) -> None:
        self._command = command
        self._base_dir = base_dir
        self._zygote = zygote
        self._ended = ended
        self._most_bytes = most_bytes
        self._child: Child | None = None
        self._temp: Path | None = None
        self._block: Block | None = None
        self._watch: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self.upstream = Upstream("")

    async def start(self, environment: Mapping[str, str]) -> None:
        """Start it, and do not wait until it is ready. Raises OSError."""
        self._temp = await on_thread(_make_temporary_folder, self._base_dir)
        self._block = free_block()
        port = self._block.port
        command = self._command.filled(self._places(port))
        self.models_dir.mkdir()
        for name, text in command.files.items():
            (self._temp / name).parent.mkdir(parents=True, exist_ok=True)
            (self._temp / name).write_text(text)
        arguments = {
            "command": command.arguments,
            "folder": str(self._temp),
            "environment": {**environment, **self._wiring(port), **command.environment},
            "mounts": {OPT_ML: str(self._base_dir.absolute())} if command.opt_ml else {},
        }
        self._child = await self._zygote.fork(
            Job("torpor_container.adapter.foreign_program:start", arguments), [1], whole=False
        )
        self.upstream = Upstream(("127.0.0.1", port), IDLE_MAX_S)
        self._watch = asyncio.create_task(self._watch_process(self._child), name="watch the container")

    @property
    def protocol(self) -> str:
        """How it loads and unloads models."""
        return self._command.protocol

    @property
    def models_dir(self) -> Path:
        """The folder in which a server with a repository of its own finds its models. It is there once it starts."""
        assert self._temp is not None, "it has started"
        return self._temp / "models"

    async def ready(self) -> None:
        """Wait until it answers its readiness paths."""
        await self._ready.wait()

    @property
    def unready(self) -> str | None:
        return None if self._ready.is_set() else f"the container does not answer {' and '.join(self._command.ready)}"

    def seen(self, folder: Path) -> str:
        """The path at which the container's processes see a folder below the instance's base folder."""
        if not self._command.opt_ml:
            return str(folder)
        return str(Path(OPT_ML) / folder.absolute().relative_to(self._base_dir.absolute()))

    def processes(self) -> list[int]:
        """The container's process, and all that it started."""
        if self._child is None:
            return []
        first = self._child.pid
        return [first, *(pid for pid in session(first) if pid != first)]

    def own_bytes(self) -> int:
        """Memory of all its processes, in bytes."""
        return sum(map(uss_bytes, self.processes()))

    async def close(self) -> None:
        """Send SIGTERM to all its processes, and SIGKILL after the grace period; remove its temporary folder."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        if self._child is not None:
            await _stop(self._child)
        self.upstream.close()
        if self._block is not None:
            self._block.close()
        if self._temp is not None:
            await on_thread(partial(shutil.rmtree, self._temp, ignore_errors=True))

    # -- inside ----------------------------------------------------------------------------------------------------
    def _places(self, port: int) -> dict[str, str]:
        return {
            "port": str(port),
            "temp": str(self._temp),
            "base_dir": self.seen(self._base_dir),
            "model_dir": self.seen(self._base_dir / "model"),
            "models_dir": str(self.models_dir),
            "grpc_port": str(port + 1),
            "metrics_port": str(port + 2),
        }

    def _wiring(self, port: int) -> dict[str, str]:
        """Variables with its own ports and temporary folder, so that containers on one machine share neither."""
        return {
            "SAGEMAKER_BIND_TO_PORT": str(port),
            **({"SAGEMAKER_BASE_DIR": OPT_ML} if self._command.opt_ml else {}),
            "SAGEMAKER_SAFE_PORT_RANGE": safe_range(port),
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self._temp)),
        }

    async def _watch_process(self, child: Child) -> None:
        """Ping the container while its process lives, and report the end of that."""
        beside = [asyncio.create_task(self._ping_forever())]
        if self._most_bytes is not None:
            beside.append(asyncio.create_task(self._bound(child, self._most_bytes)))
        try:
            code = await child.wait()
        finally:
            for task in beside:
                task.cancel()
        self._ready.clear()
        log.error("the container's process ended with exit code %d", code)
        self._ended()

    async def _bound(self, child: Child, most_bytes: int) -> None:
        await until_exceeded(most_bytes, self.processes)
        for pid in self.processes():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        child.kill()

    async def _ping_forever(self) -> None:
        for pause_s in _pauses():
            if await self._answers():
                self._ready.set()
                break
            await asyncio.sleep(pause_s)
        while True:
            await asyncio.sleep(PING_PERIOD_S)
            if await self._answers():
                self._ready.set()
            else:
                self._ready.clear()

    async def _answers(self) -> bool:
        for path in self._command.ready:
            try:
                async with patiently(PING_TIMEOUT_S):
                    answer = await self.upstream.send("GET", path, (), [], PING_TIMEOUT_S * WALL_MULTIPLE)
            except (UpstreamError, TimeoutError):
                return False
            if not 200 <= answer.status < 300:
                return False
        return True


async def _stop(child: Child) -> None:
    """Stop the whole group, since a server may not stop its workers. A process that has ended gets no signal: its pid
    may belong to another process by now."""
    if child.running:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        await asyncio.wait_for(child.wait(), GRACE_S)
    child.kill()
    await child.wait()


def _make_temporary_folder(base_dir: Path) -> Path:
    """Make the temporary folder of this instance empty. It has the same path each time, so that none is left over.

    Its path is short: servers make Unix sockets in it, whose paths have at most 107 bytes.
    """
    digest = hashlib.sha256(os.fsencode(base_dir.absolute())).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"torpor-{os.getuid()}-{digest}"
    shutil.rmtree(folder, ignore_errors=True)
    return private_folder(folder)


def _pauses() -> Iterator[float]:
    yield from START_PAUSES_S
    while True:
        yield START_PAUSES_S[-1]
