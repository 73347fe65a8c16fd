"""Single-model mode: the instance loads one artifact at its start; `/ping` fails until then."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from torpor_container.errors import (
    BadInput,
    ContainerError,
    LoadFailed,
    LoadTimedOut,
    NotReady,
    NotSupported,
    StarvedTrial,
)
from torpor_container.invocation import Invocation, Reply, StreamReply
from torpor_container.measuring.server_timing import LoadSpans, Timing
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.freshness import NO_ARTIFACT, ServedArtifact
from torpor_container.models.keeper import WaitLimits
from torpor_container.models.loader import Loaded, ModelLoader, Placed
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.threads import on_thread
from torpor_container.running.retry import retry_until_called
from torpor_container.running.runners import Runner, Scripted, TakesAdapters
from torpor_container.waiting.quiet_timeout import patiently
from torpor_container.wire import ADAPTER, ADAPTER_URL, Fault, LoadedModel, WaitStep

log = logging.getLogger(__name__)

STARVED_PAUSE_S = 5.0
"""Between a trial that got little processor time and the next look at the machine."""


class Single:
    """Serves one model, and loads it again when its script's process has ended."""

    def __init__(
        self,
        loader: ModelLoader,
        directory: Path,
        disk_tier: DiskTier | None,
        key: str,
        clock: Callable[[], float],
        limits: WaitLimits,
        timeout_s: float,
        calendar: Callable[[], float] | None = None,
        starved_pause_s: float = STARVED_PAUSE_S,
    ) -> None:
        """`calendar` is the clock of idle times, unless it is `clock`, which measures durations."""
        self._loader = loader
        self._directory = directory
        self._disk_tier = disk_tier
        self._key = key
        self._clock = clock
        self._calendar = calendar or clock
        self._limits = limits
        self._timeout_s = timeout_s
        self._starved_pause_s = starved_pause_s
        self._runner: Runner | None = None
        self._artifact = NO_ARTIFACT
        self._size_bytes = 0
        self._hits = self._in_flight = 0
        self._used_s = self._calendar()
        self._loading: asyncio.Task[None] | None = None
        self._why_late = "the model is still loading"
        self.failure: ContainerError | None = None

    async def start(self) -> None:
        await self._loader.start()
        self._loading = asyncio.create_task(self._load())

    async def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)

    def unready(self) -> str | None:
        if self.failure is not None:
            return str(self.failure)
        return self._loader.unready() if self._runner is not None else self._why_late

    def fault(self) -> Fault | None:
        return self.failure.fault if self.failure is not None else None

    def models(self) -> list[LoadedModel]:
        if self._runner is None:
            return []
        model: LoadedModel = {
            "name": self._key or "model",
            "size_bytes": self._size_bytes,
            "in_flight": self._in_flight,
            "idle_s": 0.0 if self._in_flight else self._calendar() - self._used_s,
            "format": self._runner.format,
            "hits": self._hits,
        }
        if self._disk_tier is not None:
            model["artifact_version"], model["digest"] = self._artifact
        if (workers := self._runner.workers) is not None:
            model["workers"] = workers
        return [model]

    def waiting(self) -> int:
        """None waits: the one model has all room."""
        return 0

    async def resize(self, memory: MemoryBudget) -> None:
        """The one model stays. Its script keeps the limit that it started with."""
        memory.enforce()

    async def invoke(self, target: str | None, invocation: Invocation, timing: Timing) -> Reply:
        return await retry_until_called(partial(self._invoke, invocation, timing), self._timeout_s)

    async def _invoke(self, invocation: Invocation, timing: Timing) -> Reply:
        async with self._used(timing) as runner:
            if invocation.wants_version:
                timing.version, timing.digest = self._artifact
            return await runner.invoke(invocation, self._timeout_s, timing)

    async def load_adapter(self, invocation: Invocation, timing: Timing) -> None:
        """Have the container take the adapter that the request names. Raises NotSupported where the model takes none,
        BadInput where a header is missing, and as `invoke`."""
        runner = await self._ready(timing)
        if not isinstance(runner, TakesAdapters):
            raise NotSupported("the model of this instance takes no adapters: only that of a foreign container may")
        named = {name for name, value in invocation.headers if value}
        for header in (ADAPTER, ADAPTER_URL):
            if header.lower().encode() not in named:
                raise BadInput(
                    f"the header {header} is missing: {ADAPTER} names the adapter, {ADAPTER_URL} its artifact"
                )
        await runner.load_adapter(invocation, timing)

    async def execution_parameters(self, timing: Timing) -> Reply | None:
        """What the model's script advises for transform jobs; None if it has no script. Raises as `invoke`."""
        return await retry_until_called(partial(self._execution_parameters, timing), self._timeout_s)

    async def _execution_parameters(self, timing: Timing) -> Reply | None:
        async with self._used(timing) as runner:
            if not isinstance(runner, Scripted):
                return None
            invocation = Invocation(b"")
            invocation.asks_parameters = True
            return await runner.invoke(invocation, self._timeout_s, timing)

    @asynccontextmanager
    async def stream(self, target: str | None, invocation: Invocation, timing: Timing) -> AsyncIterator[StreamReply]:
        async with AsyncExitStack() as use:
            yield await retry_until_called(partial(self._begin_stream, use, invocation, timing), self._timeout_s)

    async def _begin_stream(self, use: AsyncExitStack, invocation: Invocation, timing: Timing) -> StreamReply:
        async with AsyncExitStack() as begun:
            runner = await begun.enter_async_context(self._used(timing))
            if invocation.wants_version:
                timing.version, timing.digest = self._artifact
            reply = await begun.enter_async_context(runner.stream(invocation, self._timeout_s, timing))
            use.push_async_exit(begun.pop_all())
        return reply

    @asynccontextmanager
    async def _used(self, timing: Timing) -> AsyncIterator[Runner]:
        """The runner, counted as in use. A script that ends meanwhile is started again."""
        runner = await self._ready(timing)
        self._hits += 1
        self._in_flight += 1
        try:
            yield runner
        finally:
            self._in_flight -= 1
            self._used_s = self._calendar()
            if runner is self._runner and not runner.alive:
                self._runner = None
                self._loading = asyncio.create_task(self._load(instead_of=runner))

    async def _ready(self, timing: Timing) -> Runner:
        """The runner. A request that comes while a script is started again waits for it."""
        if self._runner is None and self._loading is not None:
            with timing.step(WaitStep.LOAD):
                await asyncio.wait((self._loading,), timeout=self._limits.ready_wait_s)
        if self._runner is None:
            raise self.failure or NotReady(self._key or "model", self._limits.ready_wait_s)
        return self._runner

    async def _load(self, instead_of: Runner | None = None) -> None:
        try:
            if instead_of is not None:
                if isinstance(instead_of, Scripted):
                    await instead_of.retire(self._timeout_s)
                await self._loader.unload(instead_of)
            placed, loaded = await self._loaded_when_quiet()
        except ContainerError as error:
            self.failure = error
        except TimeoutError:
            self.failure = LoadTimedOut(self._key or "model", self._limits.load_timeout_s)
        except Exception as error:  # the outer edge of a task that no caller awaits: `/ping` reports what it raised
            log.exception("the model cannot be loaded")
            self.failure = LoadFailed(f"the model cannot be loaded: {type(error).__name__}: {error}")
        else:
            self._runner, self._size_bytes = loaded.runner, loaded.size_bytes
            self._artifact = ServedArtifact(placed.version, placed.digest)
            if loaded.note:
                log.warning("%s", loaded.note)

    async def _loaded_when_quiet(self) -> tuple[Placed, Loaded]:
        """The model. A busy machine can keep a trial from its end: then it is tried until the machine lets it."""
        while True:
            try:
                async with patiently(self._limits.load_timeout_s):
                    placed = await self._placed()
                    found = await self._loader.recognise(placed)
                    return placed, await found.load()
            except StarvedTrial as starved:
                if self._why_late != str(starved):
                    self._why_late = str(starved)
                    log.warning("%s", starved)
                await asyncio.sleep(self._starved_pause_s)

    async def _placed(self) -> Placed:
        if self._disk_tier is not None:
            return replace(await self._disk_tier.take(self._key, LoadSpans(self._clock)), model_id="model")
        if not await on_thread(self._directory.is_dir):
            raise LoadFailed(f"there is no model: no ModelDataUrl was given, and there is no folder {self._directory}")
        return Placed(self._key, "model", self._directory)
