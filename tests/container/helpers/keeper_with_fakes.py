"""A real keeper and residency between two fakes that record their calls: a disk tier and a loader."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.helpers.waiting import reached
from torpor_container.core.eviction import LRU
from torpor_container.core.residency import Decision, Residency
from torpor_container.errors import LoadFailed, ModelDied, NoMemoryNow
from torpor_container.invocation import Invocation, Reply, StreamReply, in_one_part
from torpor_container.measuring.effort import Effort
from torpor_container.measuring.server_timing import LoadSpans, Timing
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.keeper import Keeper, WaitLimits
from torpor_container.models.loader import Found, Loaded, Placed, Settled
from torpor_container.models.tier import MakeRoom

SIZE_BYTES = 100


@dataclass
class FakeModels:
    """The events, in order, and the events to come: `pause` is awaited at every step.

    `broken` models do not load, `greedy` ones find no memory while another is loaded, `scripts` need their folders.
    """

    events: list[tuple[str, str]] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    greedy: set[str] = field(default_factory=set)
    scripts: set[str] = field(default_factory=set)
    pause: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0)

    def happened(self, what: str, name: str) -> None:
        self.events.append((what, name))

    async def until(self, what: str, name: str) -> None:
        """Waits until this has happened."""
        await reached(lambda: (what, name) in self.events)

    def counts(self) -> Counter[tuple[str, str]]:
        return Counter(self.events)


@dataclass(eq=False)
class FakeRunner:
    """Answers with its model's name, until a test ends it."""

    name: str
    models: FakeModels
    alive: bool = True
    format: str = "fake"
    needs_folder: bool = False
    workers: int | None = 0
    grown_bytes: int = 0  # since it was loaded

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        await self.models.pause()
        if not self.alive:
            raise ModelDied(1)
        return Reply(self.name.encode(), "text/plain")

    @asynccontextmanager
    async def stream(self, invocation: Invocation, timeout_s: float, timing: Timing) -> AsyncIterator[StreamReply]:
        yield in_one_part(await self.invoke(invocation, timeout_s, timing))

    async def close(self) -> None:
        self.models.happened("close", self.name)
        await self.models.pause()

    def processes(self) -> list[list[int]]:
        return []


class FakeDiskTier(DiskTier):
    def __init__(self, models: FakeModels) -> None:
        self._models = models

    async def take(self, name: str, story: LoadSpans, make_room: MakeRoom | None = None) -> Placed:
        self._models.happened("download", name)
        await self._models.pause()
        return Placed(name, name, Path(name))

    def give(self, name: str) -> None:
        self._models.happened("give", name)

    def pardon(self, name: str) -> None: ...

    def doubt(self, name: str) -> None:
        """Does nothing: a fake tier has no versions."""

    def changed(self) -> None:
        """Does nothing: a fake tier always has room."""

    async def drop(self, name: str, reason: str) -> None:
        self._models.happened("delete", name)


class FakeLoader:
    def __init__(self, models: FakeModels) -> None:
        self._models = models
        self.loaded: list[FakeRunner] = []
        self.once_s = self.imports_s = 0.0  # before each load, for what the machine needs once
        self.litter_bytes = 0  # what each load leaves behind, until it is given back
        self.spike_bytes = 0  # what something else takes for a while
        self._left_bytes = 0

    async def start(self) -> None:
        """Does nothing: a fake tier is always open."""

    async def close(self) -> None:
        """Does nothing: a fake tier leaves nothing behind."""

    def unready(self) -> str | None:
        return None

    async def recognise(self, placed: Placed) -> Found:
        await self._models.pause()
        self._models.happened("recognise", placed.name)
        return Found(SIZE_BYTES, partial(self._load, placed.name))

    async def _load(self, name: str) -> Loaded:
        self._models.happened("load", name)
        await self._models.pause()
        if name in self._models.broken:
            raise LoadFailed(f"{name} is broken")
        if name in self._models.greedy and self.loaded:
            raise NoMemoryNow(f"{name} wants all the memory there is")
        runner = FakeRunner(name, self._models, needs_folder=name in self._models.scripts)
        self.loaded.append(runner)
        self._left_bytes += self.litter_bytes
        return Loaded(runner, SIZE_BYTES, once_s=self.once_s, imports_s=self.imports_s)

    async def unload(self, runner: object) -> Effort:
        assert isinstance(runner, FakeRunner)
        self.loaded.remove(runner)
        await runner.close()
        self._models.happened("unload", runner.name)
        return Effort(0.002, 0.001)

    async def settle(self) -> Settled:
        self._left_bytes = 0
        return Settled(await self.used_bytes(), Effort(0.003, 0.002))

    async def used_bytes(self) -> int:
        await self._models.pause()
        models_bytes = sum(SIZE_BYTES + runner.grown_bytes for runner in self.loaded)
        return models_bytes + self._left_bytes + self.spike_bytes

    async def cpu_s(self) -> float:
        return 0.0


class KeeperWithFakes:
    """The keeper, its residency and its edges. `room` is how many models fit. Its disk tier may be a real one."""

    def __init__(
        self, room: int = 2, patience: WaitLimits | None = None, cache: bool = True, disk_tier: DiskTier | None = None
    ) -> None:
        self.models = FakeModels()
        self.loader = FakeLoader(self.models)
        self.decisions: list[Decision] = []
        self.residency = Residency(room * SIZE_BYTES, LRU(), 4, self.decisions.append)
        disk_tier = disk_tier or FakeDiskTier(self.models)
        self.keeper = Keeper(disk_tier, self.loader, self.residency, patience or WaitLimits(), self.clock, cache)

    def clock(self) -> float:
        return asyncio.get_running_loop().time()

    def wait_at_most(self, ready_wait_s: float) -> None:
        """How long calls wait from now on. A call that must be answered keeps the usual time, on a busy machine too."""
        self.keeper._ready_wait_s = ready_wait_s

    async def call(self, name: str, only_loaded: bool = False) -> bytes:
        """One invocation, as the instance makes it."""
        timing = Timing(self.clock)
        async with self.keeper.lend(name, timing, only_loaded) as runner:
            return (await runner.invoke(Invocation(b"", ""), 1.0, timing)).body

    async def settled(self) -> None:
        """Waits until no model is being loaded or unloaded."""
        loads = [task for task in asyncio.all_tasks() if task.get_name().startswith("load ")]
        await asyncio.gather(*loads, return_exceptions=True)
        await self.keeper.close()

    def resident(self) -> set[str]:
        return {model["name"] for model in self.keeper.models()}

    def pins(self) -> int:
        return sum(model["in_flight"] for model in self.keeper.models())
