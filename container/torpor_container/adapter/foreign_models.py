"""Models inside a foreign container, as the keeper sees them."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Protocol

from torpor_container.adapter.contract_client import NOT_FOUND, invoked_alone, streamed_alone
from torpor_container.adapter.model_adapters import ModelAdapters
from torpor_container.errors import ModelLost
from torpor_container.invocation import Invocation, Reply, StreamReply
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.loader import Placed
from torpor_container.transport.upstream import Upstream
from torpor_container.wire import WaitStep

FORMAT = "container"


class ModelCalls(Protocol):
    """How a container of many models is told to load, unload and invoke them; see `ContractClient`."""

    async def load(self, model_id: str, url: str, target: str) -> None: ...

    async def unload(self, model_id: str, target: str) -> None: ...

    async def has(self, model_id: str) -> bool: ...

    async def listed(self) -> set[str]: ...

    async def invoke(self, model_id: str, target: str, invocation: Invocation, timeout_s: float) -> Reply: ...

    def stream(
        self, model_id: str, target: str, invocation: Invocation, timeout_s: float
    ) -> AbstractAsyncContextManager[StreamReply]: ...


class ForeignModel:
    """One of the many models of a container."""

    format = FORMAT
    needs_folder = True  # a server may start another worker for it at any time
    workers: int | None = None  # its server's own affair

    def __init__(self, contract: ModelCalls, placed: Placed) -> None:
        self.model_id = placed.model_id
        self.alive = True
        self._contract = contract
        self._placed = placed

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        """Raises ModelLost where the container says that it has no such model; a handler's own 404 is an answer."""
        with timing.step(WaitStep.PREDICT):
            reply = await self._contract.invoke(self._placed.model_id, self._placed.model, invocation, timeout_s)
            if reply.status == NOT_FOUND and not await self._contract.has(self._placed.model_id):
                self.alive = False
                raise ModelLost(self._placed.model)
        return reply

    @asynccontextmanager
    async def stream(self, invocation: Invocation, timeout_s: float, timing: Timing) -> AsyncIterator[StreamReply]:
        """The step predict is the time to the head of the answer. Raises ModelLost as `invoke`."""
        async with AsyncExitStack() as use:
            with timing.step(WaitStep.PREDICT):
                call = self._contract.stream(self._placed.model_id, self._placed.model, invocation, timeout_s)
                reply = await use.enter_async_context(call)
                if reply.head.status == NOT_FOUND and not await self._contract.has(self._placed.model_id):
                    self.alive = False
                    raise ModelLost(self._placed.model)
            yield reply

    async def close(self) -> None:
        await self._contract.unload(self._placed.model_id, self._placed.model)

    def processes(self) -> list[list[int]]:
        """None of its own: the models of a container share its processes."""
        return []


class ForeignSingle:
    """The one model of a single-model container. If the container ends, its whole instance does."""

    format = FORMAT
    needs_folder = True
    workers: int | None = None
    alive = True

    def __init__(self, upstream: Upstream, adapters: ModelAdapters) -> None:
        self._upstream = upstream
        self._adapters = adapters

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        """Raises as `ModelAdapters.used_by` where the request names an adapter."""
        async with AsyncExitStack() as use:
            adapter = await use.enter_async_context(self._adapters.used_by(invocation, timing))
            with timing.step(WaitStep.PREDICT):
                return await invoked_alone(self._upstream, invocation, timeout_s, adapter)

    async def load_adapter(self, invocation: Invocation, timing: Timing) -> None:
        """Raises as `invoke`."""
        async with self._adapters.used_by(invocation, timing):
            pass

    @asynccontextmanager
    async def stream(self, invocation: Invocation, timeout_s: float, timing: Timing) -> AsyncIterator[StreamReply]:
        async with AsyncExitStack() as use:
            adapter = await use.enter_async_context(self._adapters.used_by(invocation, timing))
            with timing.step(WaitStep.PREDICT):
                reply = await use.enter_async_context(streamed_alone(self._upstream, invocation, timeout_s, adapter))
            yield reply

    async def close(self) -> None:
        """Nothing to do: the model ends with the container."""

    def processes(self) -> list[list[int]]:
        return []
