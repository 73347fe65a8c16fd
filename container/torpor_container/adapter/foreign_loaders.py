"""The foreign loaders: a container that holds many models, and one that holds a single one."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from torpor_container.adapter.body_routers import BodyRoutedClient, LlamaServer, LlamaSwap, RouterDialect
from torpor_container.adapter.contract_client import ContractClient
from torpor_container.adapter.foreign_models import FORMAT, ForeignModel, ForeignSingle, ModelCalls
from torpor_container.adapter.foreign_server import ForeignServer
from torpor_container.adapter.model_adapters import Folders, ModelAdapters
from torpor_container.adapter.repository_client import RepositoryClient
from torpor_container.core.sizing import Sizing
from torpor_container.errors import LoadFailed, LoadOutOfMemory, NoMemoryNow
from torpor_container.image.server_command import LLAMA_SERVER, LLAMA_SWAP, OPEN_INFERENCE, SAGEMAKER
from torpor_container.measuring.cpu_time import CpuTime
from torpor_container.measuring.load_meter import Meter
from torpor_container.models.loader import Found, Loaded, Placed, Settled
from torpor_container.processes.memory import uss_bytes
from torpor_container.processes.threads import on_thread
from torpor_container.running.runners import Runner
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamError

WATCH_PERIOD_S = 5.0
FLOOR_BYTES = 64 * 1024
ROUTERS: Mapping[str, Callable[[Upstream], RouterDialect]] = {LLAMA_SERVER: LlamaServer, LLAMA_SWAP: LlamaSwap}
TOO_LARGE_MAX = 1000
"""How many models are remembered that found no memory even alone: no model leaves for them again."""


class ContainerLoader:
    """What both loaders share: the container and its measurements."""

    def __init__(self, server: ForeignServer, environment: dict[str, str], clock: Callable[[], float]) -> None:
        self._server = server
        self._environment = environment
        self._clock = clock
        self._cpu_time = CpuTime()

    def unready(self) -> str | None:
        return self._server.unready

    async def settle(self) -> Settled:
        """Only measures: whether a container returns freed memory is its own choice."""
        return Settled(await self.used_bytes())

    async def used_bytes(self) -> int:
        return await on_thread(lambda: uss_bytes() + self._server.own_bytes())

    async def cpu_s(self) -> float:
        return await on_thread(lambda: self._cpu_time.seconds([self._server.processes()]))


class ForeignLoader(ContainerLoader):
    """Many models in one container, controlled by the multi-model contract."""

    def __init__(self, server: ForeignServer, environment: dict[str, str], clock: Callable[[], float]) -> None:
        super().__init__(server, environment, clock)
        self._contract: ModelCalls = ContractClient(server.upstream)
        self._sizing = Sizing({})
        self._meter = Meter()
        self._models: dict[str, ForeignModel] = {}
        self._present: set[str] = set()  # loading, loaded or leaving
        self._entries = 0
        self._watch: asyncio.Task[None] | None = None
        self._too_large: deque[str] = deque(maxlen=TOO_LARGE_MAX)

    async def start(self) -> None:
        await self._server.start(self._environment)
        self._contract = _client_of(self._server)
        self._watch = asyncio.create_task(self._watch_models(), name="watch the container's models")

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        await self._server.close()

    async def recognise(self, placed: Placed) -> Found:
        """Every folder counts as a model: the container decides whether it can load it."""
        disk_bytes = await on_thread(_disk_bytes, placed.directory)
        predicted = self._sizing.predict(placed.model_id, FORMAT, disk_bytes)
        return Found(predicted, partial(self._load, placed, disk_bytes))

    async def unload(self, runner: Runner) -> None:
        assert isinstance(runner, ForeignModel)
        self._models.pop(runner.model_id, None)
        try:
            with self._meter.window():
                await runner.close()
        finally:
            self._present.discard(runner.model_id)

    async def _load(self, placed: Placed, disk_bytes: int) -> Loaded:
        await self._server.ready()
        began_s = self._clock()
        with self._meter.window() as alone:
            before = await on_thread(self._server.own_bytes)
            await self._load_model(placed)
            grown = await on_thread(self._server.own_bytes) - before
            size_bytes = max(grown, FLOOR_BYTES)
            if alone():
                self._sizing.measured(placed.model_id, FORMAT, disk_bytes, size_bytes)
            else:
                size_bytes = self._sizing.predict(placed.model_id, FORMAT, disk_bytes)
        model = self._models[placed.model_id] = ForeignModel(self._contract, placed)
        return Loaded(model, size_bytes, self._clock() - began_s)

    async def _load_model(self, placed: Placed) -> None:
        """LoadModel. Raises LoadFailed, NoMemoryNow, and LoadOutOfMemory for a model that is too large alone."""
        if placed.model_id in self._too_large:
            raise LoadOutOfMemory(f"the container had no memory for {placed.model} even alone")
        self._present.add(placed.model_id)
        self._entries += 1
        entries, alone = self._entries, len(self._present) == 1
        with ExitStack() as unfinished:
            unfinished.callback(self._present.discard, placed.model_id)
            try:
                await self._contract.load(placed.model_id, self._server.seen(placed.directory), placed.model)
            except NoMemoryNow:
                if alone and entries == self._entries:
                    self._too_large.append(placed.model_id)
                raise
            unfinished.pop_all()

    async def _watch_models(self) -> None:
        """List the container's models regularly: one that it unloaded by itself is loaded anew at its next request."""
        while True:
            await self._server.ready()
            await asyncio.sleep(WATCH_PERIOD_S)
            known = dict(self._models)
            try:
                listed = await self._contract.listed()
            except (UpstreamError, ValueError):
                continue
            for model_id in known.keys() - listed:
                known[model_id].alive = await self._contract.has(model_id)


class ForeignSingleLoader(ContainerLoader):
    """One model in a container, which starts once the model's folder is there."""

    def __init__(
        self,
        server: ForeignServer,
        environment: dict[str, str],
        base_dir: Path,
        clock: Callable[[], float],
        folders: Folders,
    ) -> None:
        """`folders` brings the artifacts of adapters to the disk."""
        super().__init__(server, environment, clock)
        self._base_dir = base_dir
        self._folders = folders
        self._adapters = ModelAdapters(lambda: server.upstream, folders, server.seen, clock)

    async def start(self) -> None:
        """Nothing to do: the container starts with its model."""

    async def close(self) -> None:
        await self._server.close()
        await self._folders.close()

    async def recognise(self, placed: Placed) -> Found:
        return Found(0, partial(self._load, placed))

    async def unload(self, runner: Runner) -> None:
        await runner.close()

    async def _load(self, placed: Placed) -> Loaded:
        began_s = self._clock()
        if self._server.protocol != SAGEMAKER:
            raise LoadFailed(f"a container with protocol {self._server.protocol} serves many models: use MultiModel")
        try:
            await on_thread(_put_in_place, placed.directory, self._base_dir / "model")
            await self._server.start(self._environment)
        except OSError as error:
            raise LoadFailed(f"the container could not be started: {error}") from error
        await self._server.ready()
        size_bytes = await on_thread(self._server.own_bytes)
        return Loaded(ForeignSingle(self._server.upstream, self._adapters), size_bytes, self._clock() - began_s)


def _client_of(server: ForeignServer) -> ModelCalls:
    if server.protocol == OPEN_INFERENCE:
        return RepositoryClient(server.upstream, server.models_dir)
    if (make := ROUTERS.get(server.protocol)) is not None:
        return BodyRoutedClient(server.upstream, make(server.upstream), server.models_dir)
    return ContractClient(server.upstream)


def _put_in_place(directory: Path, place: Path) -> None:
    """Link the artifact to `model` below the base folder, where SageMaker unpacks it and containers look for it."""
    if directory != place:
        place.unlink(missing_ok=True)
        place.symlink_to(directory.absolute(), target_is_directory=True)


def _disk_bytes(directory: Path) -> int:
    return sum(entry.stat().st_size for entry in directory.rglob("*") if entry.is_file())
