"""Keeps one slot filled: starts its instance, watches it, and replaces it when it ends.

An instance has a process for each container of the model (`container_supervisor`). They start together. One that ends
is replaced, and the instance takes no requests meanwhile. The instance ends with the last of them.

The lifecycle table (`core.lifecycle`) says what an end or a failed ping means. The pool decides whether the slot is
needed at all.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Final, Protocol

from torpor_account.log_lines import about
from torpor_account.outer_edge import outer_edge
from torpor_account.storage.failures import is_machines
from torpor_container.waiting.quiet_timeout import patiently
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.supervision.container_supervisor import (
    Died,
    StartFailed,
    check_running,
    connected,
    launched,
    until_ready,
    watched,
)
from torpor_endpoint.fleet.supervision.memory_sharing import MemorySharing
from torpor_endpoint.fleet.supervision.probe import last_line
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer, StartTrouble

log = logging.getLogger(__name__)

NO_VARIABLES: Final[Mapping[str, str]] = MappingProxyType({})


class SlotOwner(Protocol):
    """What the supervisor reports to: the pool that owns the slot."""

    variant: Variant

    def add(self, incarnation: Incarnation, life: InstanceLife) -> None:
        """An incarnation was launched. It is not ready yet. `life` is its row of the ledger."""

    def became_ready(self, incarnation: Incarnation) -> None:
        """The incarnation is ready for the first time."""

    async def meet(self, incarnation: Incarnation) -> None:
        """The incarnation ran already, and is ready: hear which models it has, before it is offered."""

    def offer(self, incarnation: Incarnation) -> None:
        """The instance takes requests, for the first time or again."""

    def offered(self, incarnation: Incarnation) -> bool:
        """Whether the instance takes requests."""

    def suspect(self, incarnation: Incarnation) -> None:
        """The instance takes no requests until all of its containers have answered a ping."""

    def forget(self, incarnation: Incarnation, why: str) -> None:
        """The incarnation has ended."""

    def failed(self, trouble: StartTrouble) -> None:
        """An instance, or one of its containers, did not become ready. The supervisor tries again."""


class SlotSupervisor:
    """Fills one slot. `why` is the ledger's reason for the first incarnation; a later one replaces one that ended."""

    def __init__(self, pool: SlotOwner, slot: Slot, factory: InstanceFactory, why: str) -> None:
        self.slot = slot
        self._pool = pool
        self._factory = factory
        self._timing = factory.timing
        self._why = why
        self._failures = 0  # failed starts in a row
        self._deaths = 0  # incarnations in a row that died soon after they were ready

    async def run(self) -> None:
        """Keep the slot filled until cancelled."""
        while True:
            with outer_edge(log, "%s failed; starting its instance again", self.slot, fields=_about(self.slot)) as edge:
                await self._fill_once()
            if (fault := edge.fault) is not None:
                self._failed(StartFailed(f"{type(fault).__name__}: {fault}", machine=is_machines(fault)))
            await self._empty(*self._factory.slots(self._pool.variant, self.slot))
            await asyncio.sleep(self._timing.restart_pause_s(self._failures, self._deaths))
            self._why = "the one before it ended"

    async def _fill_once(self) -> None:
        try:
            steady = await self._fill()
            self._deaths = 0 if steady else self._deaths + 1
        except StartFailed as failure:
            log.warning("%s: %s", self.slot, failure, extra=_about(self.slot))
            self._failed(failure)

    async def _empty(self, *slots: Slot) -> None:
        """End whatever is left in the slots. If the host cannot do so now, it does so with the next launch."""
        for slot in slots:
            with outer_edge(log, "cannot end what is left in %s", slot, fields=_about(slot)):
                await self._factory.host.terminate(slot, 0.0)

    def _failed(self, failure: StartFailed) -> None:
        self._failures += 1
        told = str(failure), self._failures, failure.final, failure.containers, failure.machine
        self._pool.failed(StartTrouble(*told))

    async def _fill(self) -> bool:
        """Run one incarnation from its launch to its end. True if it was ready for `steady_s`. Raises StartFailed."""
        clock = asyncio.get_running_loop().time
        incarnation, life = await self._launched()
        why = "it did not become ready"
        try:
            self._pool.add(incarnation, life)
            await self._launch_others(incarnation)
            await self._until_ready(incarnation)
            ready_at_s, self._failures = clock(), 0
            if incarnation.containers[0].launched.since_s is not None:
                await self._pool.meet(incarnation)
            self._pool.offer(incarnation)
            why = await self._watch(incarnation)
            return clock() - ready_at_s >= self._timing.steady_s
        finally:
            for container in incarnation.containers:
                container.ended.cancel()
            self._pool.forget(incarnation, why)

    # -- the start -------------------------------------------------------------------------------------------------
    async def _launched(self) -> tuple[Incarnation, InstanceLife]:
        """Start the first container: its incarnation is that of the instance."""
        began_s, variant = self._factory.clock(), self._pool.variant
        first = await launched(
            self._factory.host,
            variant.containers[0],
            lambda: self._factory.launch_spec(variant, self.slot),
            self._timing,
        )
        since_s = first.launched.since_s
        life = self._factory.began(variant, first.launched, self._why, began_s if since_s is None else since_s)
        return Incarnation(self.slot, first.id, [first]), life

    async def _launch_others(self, incarnation: Incarnation) -> None:
        for slot in self._factory.slots(self._pool.variant, self.slot)[1:]:
            incarnation.containers.append(await self._relaunched(incarnation, slot))

    async def _relaunched(
        self, incarnation: Incarnation, slot: Slot, environment: Mapping[str, str] = NO_VARIABLES
    ) -> LiveContainer:
        """Start a container of an instance that runs. `environment` has what differs from the first launch."""
        variant = self._pool.variant

        def spec() -> LaunchSpec:
            first = self._factory.launch_spec(variant, slot)
            return replace(first, environment={**first.environment, **environment}, instance=incarnation.id)

        return await launched(self._factory.host, variant.containers[slot.container], spec, self._timing)

    async def _until_ready(self, incarnation: Incarnation) -> None:
        clock = asyncio.get_running_loop().time
        not_before_s = clock() + self._factory.start_delay_s(self._pool.variant)
        try:
            await self._until_all_answer(incarnation.containers)
            await asyncio.wait(
                [container.ended for container in incarnation.containers],
                timeout=max(0.0, not_before_s - clock()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            for container in incarnation.containers:
                await check_running(container)
                await connected(container, self._timing)
        except StartFailed as failure:
            incarnation.happened(InstanceEvent.DIED if isinstance(failure, Died) else InstanceEvent.TIMED_OUT)
            raise
        incarnation.happened(InstanceEvent.PING_OK)
        self._pool.became_ready(incarnation)

    async def _until_all_answer(self, containers: list[LiveContainer]) -> None:
        """Raises StartFailed for the first container that cannot become ready, and for all that are late."""
        waiting = {asyncio.ensure_future(until_ready(one, self._timing)): one for one in containers}
        within_s = self._pool.variant.startup_timeout_s
        try:
            with suppress(TimeoutError):
                async with patiently(within_s):
                    await asyncio.wait(waiting, return_when=asyncio.FIRST_EXCEPTION)
            late = {one for one in waiting if not one.done()}
            for one in waiting.keys() - late:
                one.result()
            if late:
                names = tuple(waiting[one].name for one in waiting if one in late)
                output = await last_line(next(waiting[one].log for one in waiting if one in late))
                raise StartFailed(f"no good ping within {within_s:g} s{output}", containers=names)
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    # -- the watch -------------------------------------------------------------------------------------------------
    async def _watch(self, incarnation: Incarnation) -> str:
        """Watch a ready instance until its last container has ended, and return the reason."""
        sharing = self._sharing(incarnation)
        kept = [
            asyncio.ensure_future(self._keep(incarnation, slot, sharing))
            for slot in self._factory.slots(self._pool.variant, self.slot)
        ]
        beside = [asyncio.ensure_future(sharing.run())] if sharing is not None else []
        try:
            done, _ = await asyncio.wait(kept, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for one in (*kept, *beside):
                one.cancel()
            await asyncio.gather(*kept, *beside, return_exceptions=True)

    def _sharing(self, incarnation: Incarnation) -> MemorySharing | None:
        """None for an instance of one container, which has all memory."""
        plan = self._factory.memory_plan(self._pool.variant) if len(incarnation.containers) > 1 else None
        return MemorySharing(plan, incarnation, self._timing) if plan is not None else None

    async def _keep(self, incarnation: Incarnation, slot: Slot, sharing: MemorySharing | None) -> str:
        """Watch one container, and replace it while another one lives. Return why the last one ended."""

        def well() -> None:
            ready = incarnation.phase is InstancePhase.READY  # and not retired at this moment
            if ready and incarnation.well and not self._pool.offered(incarnation):
                self._pool.offer(incarnation)  # it was suspected, but it answers

        while True:
            container = incarnation.containers[slot.container]
            why = await watched(container, self._timing, well)
            died = container.ended.done()
            log.warning("%s: %s", slot, why, extra=_about(slot))
            others = [one for one in incarnation.containers if one is not container and not one.ended.done()]
            if not others:
                incarnation.happened(InstanceEvent.DIED if died else InstanceEvent.TIMED_OUT)
                return why
            self._pool.suspect(incarnation)
            await self._replace(incarnation, slot, container, sharing)
            well()

    async def _replace(
        self, incarnation: Incarnation, slot: Slot, gone: LiveContainer, sharing: MemorySharing | None
    ) -> None:
        """Start the container again, until it is ready. The others go on, and keep their models."""
        for failures in count():
            gone.ended.cancel()
            gone.hang_up()
            await self._empty(slot)
            await asyncio.sleep(self._timing.restart_pause_s(failures))
            try:
                memory = await sharing.replaced(slot.container) if sharing is not None else NO_VARIABLES
                gone = incarnation.containers[slot.container] = await self._relaunched(incarnation, slot, memory)
                await self._until_all_answer([gone])
                await connected(gone, self._timing)
                return
            except StartFailed as failure:
                log.warning("%s: %s", slot, failure, extra=_about(slot))
                self._pool.failed(StartTrouble(str(failure), failures + 1, failure.final, failure.containers))


def _about(slot: Slot) -> dict[str, object]:
    """The fields of a line in the log about a slot."""
    return about(endpoint=slot.endpoint, variant=slot.variant)
