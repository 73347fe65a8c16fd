"""What an instance serves: many models that it keeps itself, many that a platform loads and unloads, or one.

Each mode answers the same four questions: ready? state? invoke! and, where the contract has them, load and unload.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from torpor_container.core.residency import Admit, Residency
from torpor_container.errors import (
    AlreadyLoaded,
    ContainerError,
    LoadFailed,
    LoadOutOfMemory,
    LoadTimedOut,
    ModelNotFound,
    NotReady,
    TargetMissing,
)
from torpor_container.invocation import Invocation, Reply
from torpor_container.keeper import Keeper, Patience
from torpor_container.runners import Runner
from torpor_container.shelf import Shelf
from torpor_container.tier import Tier
from torpor_container.timing import Story, Timing
from torpor_container.wire import Fault, LoadedModel, Step
from torpor_container.workshop import Workshop

LOST_THREADS_MAX = 16


class Serving(Protocol):
    """One mode."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def unready(self) -> str | None:
        """Why `/ping` is not 200 yet; None if it is."""

    def fault(self) -> Fault | None:
        """Set when it will never be ready."""

    def models(self) -> list[LoadedModel]: ...

    async def invoke(self, target: str | None, invocation: Invocation, timing: Timing) -> Reply: ...


class Kept:
    """Kept mode: the model that a request names is made resident, then invoked."""

    def __init__(self, keeper: Keeper, workshop: Workshop, timeout_s: float) -> None:
        self._keeper = keeper
        self._workshop = workshop
        self._timeout_s = timeout_s

    async def start(self) -> None:
        await self._keeper.start()

    async def close(self) -> None:
        await self._keeper.close()

    def unready(self) -> str | None:
        """An instance with many threads stuck in models' own code is worn out: it asks to be replaced."""
        lost = self._workshop.lost_threads
        return f"{lost} threads are stuck in models' own code" if lost > LOST_THREADS_MAX else None

    def fault(self) -> Fault | None:
        return None

    def models(self) -> list[LoadedModel]:
        return self._keeper.models()

    async def invoke(self, target: str | None, invocation: Invocation, timing: Timing) -> Reply:
        if not target:
            raise TargetMissing
        async with self._keeper.lend(self._keeper.name_of(target), timing) as runner:
            return await runner.invoke(invocation, self._timeout_s, timing)


class Contract:
    """Contract mode: the platform loads and unloads. Over budget is 507; nothing is evicted by itself."""

    def __init__(self, workshop: Workshop, books: Residency, clock: Callable[[], float], timeout_s: float) -> None:
        self._workshop = workshop
        self._tier = Tier(books, clock, self._unload)
        self._clock = clock
        self._timeout_s = timeout_s
        self._loaded: dict[str, tuple[str, Runner]] = {}  # url and runner, by the platform's model_name
        self._closing: set[str] = set()
        self._reviving = asyncio.Lock()

    async def start(self) -> None:
        self._tier.books.measured(await self._workshop.used_bytes())

    async def close(self) -> None:
        await self._tier.close()

    def unready(self) -> str | None:
        return None

    def fault(self) -> Fault | None:
        return None

    def models(self) -> list[LoadedModel]:
        return self._tier.models({name: runner for name, (_, runner) in self._loaded.items()})

    def url_of(self, name: str) -> str:
        """Raises ModelNotFound."""
        if name not in self._loaded or name in self._closing:
            raise ModelNotFound(name)
        return self._loaded[name][0]

    async def load(self, name: str, url: str) -> None:
        """LoadModel. Raises AlreadyLoaded, ModelNotFound (no such folder), LoadFailed, LoadOutOfMemory."""
        books = self._tier.books
        if books.get(name) is not None:
            raise AlreadyLoaded(name)
        books.request(name, self._clock())
        try:
            runner, size_bytes, took_s = await self._load(name, Path(url))
        except BaseException as error:
            books.failed(name, str(error) or type(error).__name__, self._clock())
            raise
        self._loaded[name] = (url, runner)
        books.loaded(name, size_bytes, took_s, self._clock())
        books.measured(await self._workshop.used_bytes())
        self._tier.released(name)

    async def unload(self, name: str) -> None:
        """UnloadModel: no new calls from now on, those in flight end, and only then is it let go."""
        self.url_of(name)
        self._closing.add(name)
        try:
            while not self._tier.books.drop(name, "the platform unloads it", self._clock()):
                await self._tier.change()
            await self._tier.dismiss((name,))
        finally:
            self._closing.discard(name)

    async def invoke(self, target: str | None, invocation: Invocation, timing: Timing) -> Reply:
        name = target or ""
        self.url_of(name)
        self._tier.books.request(name, self._clock())
        try:
            runner = await self._living(name, timing)
            return await runner.invoke(invocation, self._timeout_s, timing)
        finally:
            self._tier.released(name)

    async def _living(self, name: str, timing: Timing) -> Runner:
        """The model's runner. A script whose process has ended is started again: the platform does not know of it."""
        if self._loaded[name][1].alive:
            return self._loaded[name][1]
        with timing.step(Step.LOAD):
            async with self._reviving:
                url, runner = self._loaded[name]
                if not runner.alive:
                    await self._workshop.unload(runner)
                    loaded = await self._workshop.load(await self._workshop.recognise(name, Path(url)))
                    self._loaded[name] = (url, loaded.runner)
        return self._loaded[name][1]

    async def _load(self, name: str, directory: Path) -> tuple[Runner, int, float]:
        if not await asyncio.to_thread(directory.is_dir):
            raise ModelNotFound(name, f"there is no folder {directory}")
        found = await self._workshop.recognise(name, directory)
        plan = self._tier.books.admit(name, found.predicted_bytes, self._clock())
        if not isinstance(plan, Admit):
            raise LoadOutOfMemory(plan.reason)
        loaded = await self._workshop.load(found)
        return loaded.runner, loaded.size_bytes, loaded.took_s

    async def _unload(self, name: str) -> None:
        _, runner = self._loaded.pop(name)
        await self._workshop.unload(runner)
        self._tier.books.measured(await self._workshop.settle())


class Single:
    """Single-model mode: one artifact, loaded at the start; `/ping` fails until it is."""

    def __init__(
        self,
        workshop: Workshop,
        directory: Path,
        shelf: Shelf | None,
        key: str,
        clock: Callable[[], float],
        patience: Patience,
        timeout_s: float,
    ) -> None:
        self._workshop = workshop
        self._directory = directory
        self._shelf = shelf
        self._key = key
        self._clock = clock
        self._patience = patience
        self._timeout_s = timeout_s
        self._runner: Runner | None = None
        self._size_bytes = 0
        self._loading: asyncio.Task[None] | None = None
        self.failure: ContainerError | None = None

    async def start(self) -> None:
        self._loading = asyncio.create_task(self._load())

    async def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)

    def unready(self) -> str | None:
        if self.failure is not None:
            return str(self.failure)
        return None if self._runner is not None else "the model is still loading"

    def fault(self) -> Fault | None:
        return self.failure.fault if self.failure is not None else None

    def models(self) -> list[LoadedModel]:
        if self._runner is None:
            return []
        return [
            {
                "name": self._key or "model",
                "size_bytes": self._size_bytes,
                "in_flight": 0,
                "idle_s": 0.0,
                "format": self._runner.format,
                "hits": 0,
            }
        ]

    async def invoke(self, target: str | None, invocation: Invocation, timing: Timing) -> Reply:
        runner = await self._ready(timing)
        try:
            return await runner.invoke(invocation, self._timeout_s, timing)
        finally:
            if runner is self._runner and not runner.alive:
                self._runner = None
                self._loading = asyncio.create_task(self._load(instead_of=runner))

    async def _ready(self, timing: Timing) -> Runner:
        """The runner. Who comes while a script is started again waits for it."""
        if self._runner is None and self._loading is not None:
            with timing.step(Step.LOAD):
                await asyncio.wait((self._loading,), timeout=self._patience.ready_wait_s)
        if self._runner is None:
            raise self.failure or NotReady(self._key or "model", self._patience.ready_wait_s)
        return self._runner

    async def _load(self, instead_of: Runner | None = None) -> None:
        if instead_of is not None:
            await self._workshop.unload(instead_of)
        try:
            async with asyncio.timeout(self._patience.load_timeout_s):
                loaded = await self._workshop.load(await self._workshop.recognise("model", await self._folder()))
        except ContainerError as error:
            self.failure = error
        except TimeoutError:
            self.failure = LoadTimedOut(self._key or "model", self._patience.load_timeout_s)
        else:
            self._runner, self._size_bytes = loaded.runner, loaded.size_bytes

    async def _folder(self) -> Path:
        if self._shelf is not None:
            return (await self._shelf.take(self._key, Story(self._clock))).directory
        if not await asyncio.to_thread(self._directory.is_dir):
            raise LoadFailed(f"there is no model: no ModelDataUrl was given, and no folder {self._directory} is here")
        return self._directory
