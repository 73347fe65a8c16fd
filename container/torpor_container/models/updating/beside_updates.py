"""Loads the newer version of a model beside the older one, and has it take over once it is loaded (TORPOR_UPDATE)."""

import asyncio
import logging
from collections.abc import Callable
from weakref import WeakValueDictionary

from torpor_container.core.occupancy import ModelStage
from torpor_container.core.versions.copy_names import other_copy
from torpor_container.errors import ContainerError, NotReady
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.freshness import Freshness
from torpor_container.models.keeper import Keeper
from torpor_container.wire import LeavingModel

TOOK_OVER = "a newer version took over"

log = logging.getLogger(__name__)


class BesideUpdates:
    """For one instance, on its event loop."""

    def __init__(self, keeper: Keeper, freshness: Freshness, clock: Callable[[], float], renews: bool = False) -> None:
        """`renews`: a model of which a call has found a newer version is updated, and not retired."""
        self._keeper = keeper
        self._copies = keeper.copies
        self._freshness = freshness
        self._clock = clock
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        if renews:
            keeper.renew = self.begin

    async def update(self, model: str) -> LeavingModel:
        """Have the version that S3 has now answer the calls that begin after this returns. Until then, calls go to the
        older one. A model that is not in memory is only looked for anew by its next call.

        Raises what the load raises: the older version goes on answering then.
        """
        async with self._turns.setdefault(model, asyncio.Lock()):
            older = self._copies.answering(model)
            stage = await self._loaded(older)
            if stage is None:
                return self._keeper.retire(older, TOOK_OVER, doubt=True)
            if not await self._freshness.differs(older):
                return {"model": model, "was": "resident", "in_flight": 0}
            await self._load_beside(model, other_copy(older))
            return self._keeper.retire(older, TOOK_OVER, doubt=True)

    def begin(self, model: str) -> None:
        """Update the model in the background, unless that is under way."""
        if model not in self._tasks:
            task = self._tasks[model] = asyncio.create_task(self._update_logged(model), name=f"update {model}")
            task.add_done_callback(lambda _: self._tasks.pop(model, None))

    async def close(self) -> None:
        """Stop the updates that are under way."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _loaded(self, copy: str) -> ModelStage | None:
        """Wait for a load of this copy that has begun: it may have begun with the older version. Then its stage, which
        is None if it is in no memory, or leaves it."""
        await self._keeper.load_ended(copy)
        return self._keeper.stage_of(copy)

    async def _load_beside(self, model: str, newer: str) -> None:
        """Load the other copy and switch to it. An earlier copy of this name, which lends itself to its last calls,
        leaves first."""
        self._keeper.retire(newer, TOOK_OVER, doubt=True)
        self._copies.begin(model)
        try:
            while True:
                try:
                    async with self._keeper.lend(newer, Timing(self._clock)):
                        self._copies.switch(model)
                        return
                except NotReady:  # the load goes on, and no call waits for it
                    await self._keeper.load_ended(newer)
                    if self._keeper.stage_of(newer) is None:
                        raise
        finally:
            self._copies.end(model)

    async def _update_logged(self, model: str) -> None:
        try:
            await self.update(model)
        except ContainerError as error:
            log.warning("the newer version of %s cannot take over: %s", model, error)
