"""A loader whose next loads find no memory, as a test asks for it. Everything else is done by the loader behind it."""

from dataclasses import replace

from torpor_container.errors import LoadOutOfMemory
from torpor_container.measuring.effort import Effort
from torpor_container.models.loader import Found, Loaded, ModelLoader, Placed, Settled
from torpor_container.running.runners import Runner


class FaultyLoader:
    """`loader` with faults."""

    def __init__(self, loader: ModelLoader) -> None:
        self._loader = loader
        self._left: list[str] = []
        """The models whose next loads fail, one entry for each load; empty text for any model."""

    def fail_next(self, model: str) -> None:
        """Have the next load of the model find no memory; of any model, if the name is empty."""
        self._left.append(model)

    async def start(self) -> None:
        await self._loader.start()

    async def close(self) -> None:
        await self._loader.close()

    def unready(self) -> str | None:
        return self._loader.unready()

    async def recognise(self, placed: Placed) -> Found:
        found = await self._loader.recognise(placed)

        async def load() -> Loaded:
            for name in (placed.name, ""):
                if name in self._left:
                    self._left.remove(name)
                    raise LoadOutOfMemory(f"{placed.name}: a fault of the schedule leaves no memory for it")
            return await found.load()

        return replace(found, load=load)

    async def unload(self, runner: Runner) -> Effort | None:
        return await self._loader.unload(runner)

    async def settle(self) -> Settled:
        return await self._loader.settle()

    async def used_bytes(self) -> int:
        return await self._loader.used_bytes()

    async def cpu_s(self) -> float:
        return await self._loader.cpu_s()
