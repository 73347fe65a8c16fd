"""Loads a folder into a runner and measures what it takes. It decides nothing: who may load is the keeper's affair."""

import asyncio
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from torpor_container.core.sizing import Prior, Sizing
from torpor_container.errors import LoadFailed
from torpor_container.formats import SCRIPT, Conventions, Format, available, detect
from torpor_container.formats.script.process import ScriptProcess
from torpor_container.memory import give_back, uss_bytes
from torpor_container.runners import InProcess, Runner, Scripted
from torpor_container.settings import Settings
from torpor_container.warm import Job, OwnedWarmParent, WarmParent

T = TypeVar("T")

FLOOR_BYTES = 64 * 1024
"""No model takes less: a load can look free when it fills pages that an unloaded one left behind."""


@dataclass(frozen=True)
class Recognised:
    """A model on disk before its load: its format, its file, its bytes on disk and those predicted in memory."""

    model_id: str
    format: Format
    path: Path
    directory: Path
    disk_bytes: int
    predicted_bytes: int


@dataclass(frozen=True)
class Loaded:
    runner: Runner
    size_bytes: int
    took_s: float = 0.0


class Meter:
    """Tells what one load adds to the process, which only a load that ran alone can show."""

    def __init__(self) -> None:
        self._open = 0
        self._mixed = False

    @contextmanager
    def window(self) -> Iterator[Callable[[], bool]]:
        """Yields a question: did this load run alone until now?"""
        self._mixed = self._open > 0
        self._open += 1
        try:
            yield lambda: not self._mixed and self._open == 1
        finally:
            self._open -= 1


class Workshop:
    """Recognises, loads and measures models for one instance."""

    def __init__(self, settings: Settings, conventions: Conventions, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._conventions = conventions
        self._formats = available()
        self._clock = clock
        self._threads = ThreadPoolExecutor(max_workers=max(1, settings.vcpu), thread_name_prefix="predict")
        self._loaders = ThreadPoolExecutor(max_workers=settings.loads_max, thread_name_prefix="load")
        self._sizing = Sizing(
            {known.name: Prior(known.fixed_bytes, known.bytes_per_artifact_byte) for known in self._formats}
        )
        self._meter = Meter()
        self._own_warm_parent: OwnedWarmParent | None = None
        self._sockets: tempfile.TemporaryDirectory[str] | None = None
        self._starting = asyncio.Lock()
        self._runners: set[Runner] = set()

    async def recognise(self, model_id: str, directory: Path) -> Recognised:
        """Look at a folder. Raises UnknownFormat."""
        known, path, disk_bytes = await self._in_loader(_look, directory, self._settings.program, self._formats)
        predicted = self._sizing.predict(model_id, known.name, disk_bytes)
        return Recognised(model_id, known, path, directory, disk_bytes, predicted)

    async def load(self, found: Recognised) -> Loaded:
        """Load it and measure it. Raises LoadFailed, LoadOutOfMemory."""
        began_s = self._clock()
        loading = self._start_script if found.format.name == SCRIPT else self._load_here
        loaded = await loading(found)
        self._runners.add(loaded.runner)
        return replace(loaded, took_s=self._clock() - began_s)

    async def unload(self, runner: Runner) -> None:
        """Let a model go, and give its memory back to the system."""
        self._runners.discard(runner)
        await runner.close()

    async def settle(self) -> int:
        """Give freed memory back; answer what the instance really uses then, scripts included."""
        return await self._in_loader(self._measure_after_trim)

    async def used_bytes(self) -> int:
        return await self._in_loader(self._measure)

    async def close(self) -> None:
        for runner in tuple(self._runners):
            await self.unload(runner)
        if self._own_warm_parent is not None:
            await self._own_warm_parent.close()
        if self._sockets is not None:
            self._sockets.cleanup()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._loaders.shutdown(wait=False, cancel_futures=True)

    # -- inside this process ---------------------------------------------------------------------------------------
    async def _load_here(self, found: Recognised) -> Loaded:
        await self._in_loader(_import_all, found.format.frameworks)
        with self._meter.window() as alone:
            before = await self._in_loader(uss_bytes)
            model = await self._in_loader(found.format.load, found.path, self._conventions)
            grown = await self._in_loader(uss_bytes) - before
            if alone():
                size_bytes = max(grown, FLOOR_BYTES)
                self._sizing.measured(found.model_id, found.format.name, found.disk_bytes, size_bytes)
            else:
                size_bytes = found.predicted_bytes
        return Loaded(InProcess(model, self._threads, time.thread_time), size_bytes)

    # -- in a process of its own -----------------------------------------------------------------------------------
    async def _start_script(self, found: Recognised) -> Loaded:
        parent = await self._warm_parent()
        ours, theirs = socket.socketpair()
        job = Job(
            "torpor_container.formats.script.child:start",
            {
                "directory": str(found.directory),
                "script": str(found.path),
                "memory_bytes": self._settings.memory_bytes,
                "conventions": asdict(self._conventions),
            },
        )
        with theirs:
            try:
                child = await parent.fork(job, [theirs.fileno()])
            except BaseException as error:
                ours.close()
                if isinstance(error, OSError):
                    raise LoadFailed(f"no process could be started for the script: {error}") from error
                raise
        process = ScriptProcess(ours, child)
        runner = Scripted(process)
        try:
            await process.loaded(self._settings.load_timeout_s)
            size_bytes = await self._in_loader(runner.own_bytes)
        except TimeoutError:
            await process.close()
            raise LoadFailed(f"the script did not load within {self._settings.load_timeout_s:g} s") from None
        except BaseException:
            await process.close()
            raise
        self._sizing.measured(found.model_id, found.format.name, found.disk_bytes, size_bytes)
        return Loaded(runner, size_bytes)

    async def _warm_parent(self) -> WarmParent:
        if self._settings.warm_parent:
            return WarmParent(Path(self._settings.warm_parent))
        async with self._starting:
            if self._own_warm_parent is None or not self._own_warm_parent.running:
                self._sockets = tempfile.TemporaryDirectory(prefix="torpor-")
                self._own_warm_parent = await OwnedWarmParent.start(Path(self._sockets.name) / "warm")
        return self._own_warm_parent

    # -- measuring -------------------------------------------------------------------------------------------------
    def _measure(self) -> int:
        return uss_bytes() + sum(runner.own_bytes() for runner in tuple(self._runners))

    def _measure_after_trim(self) -> int:
        give_back()
        return self._measure()

    async def _in_loader(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._loaders, work, *arguments)


def _import_all(modules: Sequence[str]) -> None:
    for module in modules:
        import_module(module)


def _look(directory: Path, program: str, formats: Sequence[Format]) -> tuple[Format, Path, int]:
    known, path = detect(directory, program, formats)
    return known, path, sum(entry.stat().st_size for entry in directory.rglob("*") if entry.is_file())
