"""Contract mode: the platform loads and unloads models, as SageMaker does, and this instance obeys."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from torpor_container.core.residency import Admit, Residency
from torpor_container.errors import AlreadyLoaded, LoadOutOfMemory, ModelNotFound
from torpor_container.invocation import Invocation, Reply, StreamReply
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.loader import ModelLoader, Placed
from torpor_container.models.tier import Tier
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.threads import on_thread
from torpor_container.running.retry import retry_until_called
from torpor_container.running.runners import Runner, Scripted
from torpor_container.wire import Fault, LoadedModel, WaitStep


class ContractMode:
    """Many models, which the platform loads and unloads. A load over the budget is 507; the mode evicts no model."""

    def __init__(self, loader: ModelLoader, residency: Residency, clock: Callable[[], float], timeout_s: float) -> None:
        self._loader = loader
        self._tier = Tier(residency, clock, self._unload, self._settle)
        self._clock = clock
        self._timeout_s = timeout_s
        self._loaded: dict[str, tuple[str, Runner]] = {}  # url and runner, by the platform's model_name
        self._closing: set[str] = set()
        self._reviving = asyncio.Lock()

    async def start(self) -> None:
        await self._loader.start()
        self._tier.residency.measured(await self._loader.used_bytes())

    async def close(self) -> None:
        await self._tier.close()

    def unready(self) -> str | None:
        return self._loader.unready()

    def fault(self) -> Fault | None:
        return None

    def models(self) -> list[LoadedModel]:
        """The models that can be called. One that is being unloaded is not listed, even if a call still uses it."""
        callable_now = self._loaded.keys() - self._closing
        return self._tier.models({name: self._loaded[name][1] for name in callable_now})

    def waiting(self) -> int:
        """None waits: a load without room is refused."""
        return 0

    async def resize(self, memory: MemoryBudget) -> None:
        """Loads have this budget from now on. The platform unloads models where it is lower."""
        self._tier.residency.budget_bytes = memory.size_bytes
        memory.enforce()

    def url_of(self, name: str) -> str:
        """The url with which the platform loaded the model. Raises ModelNotFound."""
        if name not in self._loaded or name in self._closing:
            raise ModelNotFound(name)
        return self._loaded[name][0]

    async def load(self, name: str, url: str) -> None:
        """LoadModel. Waits until a model that is being unloaded is gone, and loads it again.

        Raises AlreadyLoaded, ModelNotFound (no such folder), LoadFailed, LoadOutOfMemory.
        """
        residency = self._tier.residency
        while name in self._closing:
            await self._tier.change()
        if residency.get(name) is not None:
            raise AlreadyLoaded(name)
        residency.request(name, self._clock())
        with self._tier.loading(name):
            runner, size_bytes, took_s = await self._load(name, Path(url))
        self._loaded[name] = (url, runner)
        residency.loaded(name, size_bytes, took_s, self._clock())
        try:
            fits = await self._fits()
        finally:
            self._tier.released(name)
        if not fits:
            await self.unload(name)
            raise LoadOutOfMemory(
                f"{name} takes {size_bytes:,} bytes, more than was left of {residency.budget_bytes:,}"
            )

    async def unload(self, name: str) -> None:
        """UnloadModel. New calls fail from now on; the model leaves memory once the calls in flight have ended."""
        self.url_of(name)
        self._closing.add(name)
        try:
            while not self._tier.residency.drop(name, "the platform unloads it", self._clock()):
                await self._tier.change()
            await self._tier.dismiss((name,))
        finally:
            self._closing.discard(name)
            self._tier.changed()

    async def invoke(self, target: str | None, invocation: Invocation, timing: Timing) -> Reply:
        name = target or ""
        self.url_of(name)
        self._tier.residency.request(name, self._clock())
        try:
            return await retry_until_called(partial(self._invoke, name, invocation, timing), self._timeout_s)
        finally:
            self._tier.released(name)

    @asynccontextmanager
    async def stream(self, target: str | None, invocation: Invocation, timing: Timing) -> AsyncIterator[StreamReply]:
        name = target or ""
        self.url_of(name)
        self._tier.residency.request(name, self._clock())
        try:
            async with AsyncExitStack() as use:
                begin = partial(self._begin_stream, use, name, invocation, timing)
                yield await retry_until_called(begin, self._timeout_s)
        finally:
            self._tier.released(name)

    async def _begin_stream(
        self, use: AsyncExitStack, name: str, invocation: Invocation, timing: Timing
    ) -> StreamReply:
        runner = await self._live_runner(name, timing)
        return await use.enter_async_context(runner.stream(invocation, self._timeout_s, timing))

    async def _invoke(self, name: str, invocation: Invocation, timing: Timing) -> Reply:
        runner = await self._live_runner(name, timing)
        return await runner.invoke(invocation, self._timeout_s, timing)

    async def _live_runner(self, name: str, timing: Timing) -> Runner:
        """The model's runner. Starts a script again whose process has ended: the platform does not know of that."""
        runner = self._loaded[name][1]
        if runner.alive:
            return runner
        with timing.step(WaitStep.LOAD):
            if isinstance(runner, Scripted):
                await runner.retire(self._timeout_s)
            async with self._reviving:
                url, runner = self._loaded[name]
                if not runner.alive:
                    await self._loader.unload(runner)
                    found = await self._loader.recognise(Placed(name, name, Path(url)))
                    self._loaded[name] = (url, (await found.load()).runner)
        return self._loaded[name][1]

    async def _load(self, name: str, directory: Path) -> tuple[Runner, int, float]:
        if not await on_thread(_is_folder, directory):
            raise ModelNotFound(str(directory), "model store")
        found = await self._loader.recognise(Placed(name, name, directory))
        plan = await self._tier.planned(name, found.predicted_bytes)
        if not isinstance(plan, Admit):
            raise LoadOutOfMemory(plan.reason)
        loaded = await found.load()
        return loaded.runner, loaded.size_bytes, loaded.took_s

    async def _fits(self) -> bool:
        """Whether all loaded models are within the budget, as measured."""
        residency = self._tier.residency
        residency.measured(await self._loader.used_bytes())
        if not residency.has_room(0):
            residency.measured(await self._settle())
        return residency.has_room(0)

    async def _settle(self) -> int:
        return (await self._loader.settle()).used_bytes

    async def _unload(self, name: str) -> None:
        _, runner = self._loaded.pop(name)
        await self._loader.unload(runner)
        self._tier.residency.measured(await self._settle(), gone=name)


def _is_folder(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except OSError:  # a name longer than the system allows
        return False
