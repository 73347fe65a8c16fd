"""What an instance serves: many models that it keeps itself, many that a platform loads and unloads, or one.

Each mode answers the same four questions: ready? state? invoke! and, where the contract has them, load and unload.
"""

import asyncio
from functools import partial
from typing import Protocol

from torpor_container.errors import ContainerError, ModelLost, OutOfMemory, TargetMissing
from torpor_container.invocation import Invocation, Reply
from torpor_container.measuring.timing import Timing
from torpor_container.models.keep_alive import KeepAliveChore
from torpor_container.models.keeper import Keeper
from torpor_container.running.retry import until_called
from torpor_container.running.runners import InProcess, Then
from torpor_container.wire import Fault, LeavingModel, LoadedModel


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


class KeptMode:
    """Kept mode: the model that a request names is made resident, then invoked."""

    def __init__(self, keeper: Keeper, timeout_s: float, rest: KeepAliveChore | None = None) -> None:
        self._keeper = keeper
        self._rest = rest
        self._resting: asyncio.Task[None] | None = None
        self._timeout_s = timeout_s

    async def start(self) -> None:
        await self._keeper.start()
        if self._rest is not None:
            self._resting = asyncio.create_task(self._rest.run(), name="rest")

    async def close(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        await self._keeper.close()

    def unready(self) -> str | None:
        return self._keeper.unready()

    def fault(self) -> Fault | None:
        return None

    def models(self) -> list[LoadedModel]:
        return self._keeper.models()

    def reload(self, target: str) -> LeavingModel:
        """The next call that begins gets the newest version. Raises TargetForbidden."""
        return self._keeper.retire(self._keeper.name_of(target), "it was to be reloaded", doubt=True)

    def unload(self, target: str) -> LeavingModel:
        """It leaves memory as soon as nobody uses it, and stays on disk. Raises TargetForbidden."""
        return self._keeper.retire(self._keeper.name_of(target), "it was to be unloaded", doubt=False)

    async def invoke(self, target: str | None, invocation: Invocation, timing: Timing) -> Reply:
        if not target:
            raise TargetMissing
        name = self._keeper.name_of(target)
        call = partial(self._invoke, name, invocation, timing)
        try:
            return await until_called(call, self._timeout_s)
        except ModelLost:  # it was not called, and is loaded anew
            return await until_called(call, self._timeout_s)

    def take_inline(self, target: str | None, invocation: Invocation, timing: Timing, then: Then) -> bool:
        """Take a call of a model in memory that predicts cheaply. False, and nothing is done, for any other.

        `then` is called once, before this returns or later in the same turn of the event loop.
        """
        runner = self._keeper.at_hand(target) if target else None
        if target is None or not isinstance(runner, InProcess) or not runner.cheap(invocation.body):
            return False
        self._keeper.take(target)
        timing.hit = True

        def answered(outcome: Reply | ContainerError) -> None:
            self._keeper.give_back(target)
            if isinstance(outcome, OutOfMemory):
                self._keeper.relieve()
            then(outcome)

        runner.answer_soon(invocation, timing, answered)
        return True

    async def _invoke(self, name: str, invocation: Invocation, timing: Timing) -> Reply:
        async with self._keeper.lend(name, timing) as runner:
            return await runner.invoke(invocation, self._timeout_s, timing)
