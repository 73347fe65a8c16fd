"""The modes of an instance: many models that it keeps itself, many that a platform loads and unloads, or one.

Each mode has the same methods: whether it is ready, its models, `invoke`, and, where its contract has them, load and
unload. This module has the interface and kept mode.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Protocol

from torpor_container.core.versions.copy_names import model_of
from torpor_container.errors import ContainerError, ModelLost, OutOfMemory, TargetMissing
from torpor_container.invocation import Invocation, Reply, StreamReply
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.keep_alive import KeepAliveChore
from torpor_container.models.keeper import Keeper
from torpor_container.models.updating.beside_updates import BesideUpdates
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.running.retry import retry_until_called
from torpor_container.running.runners import InProcess, Then
from torpor_container.wire import Fault, LeavingModel, LoadedModel


class Serving(Protocol):
    """What each mode can do."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def unready(self) -> str | None:
        """Why `/ping` does not answer 200 yet; None if it does."""

    def fault(self) -> Fault | None:
        """Why the instance will never be ready; None if it may be."""

    def models(self) -> list[LoadedModel]: ...

    def waiting(self) -> int:
        """How many models wait until there is room for them in memory."""

    async def resize(self, memory: MemoryBudget) -> None:
        """Use what the budget has from now on: it was changed. No model that is in use leaves."""

    async def invoke(self, target: str | None, invocation: Invocation, timing: Timing) -> Reply: ...

    def stream(
        self, target: str | None, invocation: Invocation, timing: Timing
    ) -> AbstractAsyncContextManager[StreamReply]:
        """As `invoke`, in parts (see `Runner.stream`). The model is in use until the block ends."""


class KeptMode:
    """Kept mode: the keeper makes the model that a request names resident, and the mode invokes it."""

    def __init__(
        self, keeper: Keeper, updates: BesideUpdates, timeout_s: float, keep_alive: KeepAliveChore | None = None
    ) -> None:
        self._keeper = keeper
        self._updates = updates
        self._moved = keeper.copies.moved
        self._keep_alive = keep_alive
        self._chore: asyncio.Task[None] | None = None
        self._timeout_s = timeout_s

    async def start(self) -> None:
        await self._keeper.start()
        if self._keep_alive is not None:
            self._chore = asyncio.create_task(self._keep_alive.run(), name="keep-alive")

    async def close(self) -> None:
        if self._chore is not None:
            self._chore.cancel()
        await self._updates.close()
        await self._keeper.close()

    def unready(self) -> str | None:
        return self._keeper.unready()

    def fault(self) -> Fault | None:
        return None

    def models(self) -> list[LoadedModel]:
        return self._keeper.models()

    def waiting(self) -> int:
        return self._keeper.waiting

    async def resize(self, memory: MemoryBudget) -> None:
        """Idle models leave where the budget is lower; models that wait for room come in where it is higher."""
        await self._keeper.resize(memory)

    async def update(self, target: str) -> LeavingModel:
        """Have the newest version answer every call that begins after this returns, and the older one those before.
        Raises TargetForbidden, and what the load raises."""
        return await self._updates.update(model_of(self._keeper.name_of(target)))

    def reload(self, target: str) -> LeavingModel:
        """Make the next call that begins get the newest version. Raises TargetForbidden."""
        return self._keeper.retire(self._keeper.name_of(target), "it was to be reloaded", doubt=True)

    def unload(self, target: str) -> LeavingModel:
        """Unload the model once no call uses it. It stays on disk. Raises TargetForbidden."""
        return self._keeper.retire(self._keeper.name_of(target), "it was to be unloaded", doubt=False)

    def tiers(self, targets: list[str]) -> dict[str, str]:
        """See `wire.ModelTiers`. Raises TargetForbidden."""
        found = {target: self._keeper.tier_of(self._keeper.name_of(target)) for target in targets}
        return {target: tier for target, tier in found.items() if tier is not None}

    async def load(self, target: str, timing: Timing, reason: str = "") -> None:
        """Load the model for the calls to come; `reason` is a person's. Raises TargetForbidden, or what the load
        raises."""
        name = self._keeper.name_of(target)
        if reason and self._keeper.tier_of(name) != "memory":
            self._keeper.ordered(name, reason)
        async with self._keeper.lend(name, timing):
            pass

    async def arrive(self) -> float | None:
        """Do what is due now, after the clock was moved. Returns the seconds until a model is due by itself."""
        return None if self._keep_alive is None else await self._keep_alive.arrive()

    async def invoke(self, target: str | None, invocation: Invocation, timing: Timing) -> Reply:
        if not target:
            raise TargetMissing
        name = self._keeper.name_of(target)
        call = partial(self._invoke, name, invocation, timing)
        try:
            return await retry_until_called(call, self._timeout_s)
        except ModelLost:  # the model was not called, so it is loaded anew and called once more
            return await retry_until_called(call, self._timeout_s)

    @asynccontextmanager
    async def stream(self, target: str | None, invocation: Invocation, timing: Timing) -> AsyncIterator[StreamReply]:
        if not target:
            raise TargetMissing
        name = self._keeper.name_of(target)
        async with AsyncExitStack() as use:
            begin = partial(self._begin_stream, use, name, invocation, timing)
            try:
                reply = await retry_until_called(begin, self._timeout_s)
            except ModelLost:  # as in `invoke`
                reply = await retry_until_called(begin, self._timeout_s)
            yield reply

    def take_inline(self, target: str, invocation: Invocation, timing: Timing, then: Then) -> bool:
        """Answer a call without a task of its own, if its model is in memory and predicts cheaply.

        False, and nothing is done, for any other. `then` is called once, before this returns or later in the same turn
        of the event loop.
        """
        name = self._moved.get(target, target) if self._moved else target
        runner = self._keeper.at_hand(name)
        if not isinstance(runner, InProcess) or not runner.cheap(invocation.body) or not self._keeper.take(name):
            return False
        timing.hit = True
        if invocation.wants_version:
            timing.version, timing.digest = self._keeper.artifact_of(name)

        def answered(outcome: Reply | ContainerError) -> None:
            self._keeper.give_back(name)
            if isinstance(outcome, OutOfMemory):
                self._keeper.relieve()
            then(outcome)

        runner.answer_soon(invocation, timing, answered)
        return True

    async def _invoke(self, name: str, invocation: Invocation, timing: Timing) -> Reply:
        async with self._keeper.lend(name, timing, invocation.only_loaded) as runner:
            if invocation.wants_version:
                timing.version, timing.digest = self._keeper.artifact_of(name)
            return await runner.invoke(invocation, self._timeout_s, timing)

    async def _begin_stream(
        self, use: AsyncExitStack, name: str, invocation: Invocation, timing: Timing
    ) -> StreamReply:
        """The answer, once its first part is there. The end of `use` ends it and gives the model back."""
        async with AsyncExitStack() as begun:
            runner = await begun.enter_async_context(self._keeper.lend(name, timing, invocation.only_loaded))
            if invocation.wants_version:
                timing.version, timing.digest = self._keeper.artifact_of(name)
            reply = await begun.enter_async_context(runner.stream(invocation, self._timeout_s, timing))
            use.push_async_exit(begun.pop_all())
        return reply
