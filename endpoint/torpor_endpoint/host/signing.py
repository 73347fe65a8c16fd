"""A host whose instances sign: each launch gets variables that lead to its role's credentials. They end with it."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from torpor_endpoint.host import Host, HostError, Launched, LaunchSpec, Slot


class SigningHost:
    """As `host`, which runs the instances.

    `begin` gives the variables of one launch, and raises ValueError for a role that cannot be assumed; `end` voids what
    a slot's last launch got, and `keep` what all slots but these got. They may wait for the disk: they run in a thread.
    """

    def __init__(
        self,
        host: Host,
        begin: Callable[[LaunchSpec], Mapping[str, str]],
        end: Callable[[Slot], None],
        keep: Callable[[Collection[Slot]], None],
    ) -> None:
        self._host = host
        self._begin = begin
        self._end = end
        self._keep = keep

    async def launch(self, spec: LaunchSpec) -> Launched:
        present = self._host.health(spec.slot)
        if present is not None and present.serves(spec):
            return await self._host.launch(spec)
        try:
            variables = await asyncio.to_thread(self._begin, spec)
        except ValueError as error:
            raise HostError(str(error)) from error
        async with AsyncExitStack() as unfinished:  # whatever ends the launch, nothing has the variables
            unfinished.push_async_callback(asyncio.to_thread, self._end, spec.slot)
            launched = await self._host.launch(replace(spec, environment={**spec.environment, **variables}))
            unfinished.pop_all()
        return launched

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        try:
            await self._host.terminate(slot, grace_s)
        finally:
            await asyncio.to_thread(self._end, slot)

    def list(self) -> tuple[Launched, ...]:
        return self._host.list()

    async def placed(self, slot: Slot) -> Launched:
        return await self._host.placed(slot)

    async def exited(self, slot: Slot) -> Launched:
        return await self._host.exited(slot)

    def health(self, slot: Slot) -> Launched | None:
        return self._host.health(slot)

    async def vacate(self, endpoint: str, variant: str | None = None) -> None:
        await self._host.vacate(endpoint, variant)

    async def open(self, kept: Collection[tuple[str, str]]) -> None:
        """See `Host.open`. Instances that run already keep what an earlier endpoint process gave them."""
        await self._host.open(kept)
        await asyncio.to_thread(self._keep, {launched.slot for launched in self._host.list()})

    async def close(self) -> None:
        await self._host.close()
