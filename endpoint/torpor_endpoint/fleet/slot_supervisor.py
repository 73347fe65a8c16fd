"""Keeps one slot filled: starts its instance, probes it until it is ready, watches it, and replaces it when it ends.

The lifecycle table (`core.lifecycle`) says what an end or a failed ping means. The pool decides whether the slot is
needed at all.
"""

import asyncio
import logging
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Protocol

from torpor_container import wire
from torpor_container.transport.multiplexed import Multiplexed
from torpor_container.transport.upstream import Upstream
from torpor_endpoint.core.lifecycle import InstanceEvent
from torpor_endpoint.core.records import Variant
from torpor_endpoint.fleet.incarnation import Incarnation, StartTrouble
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.probe import answers, final_fault, last_line, truncate_if_large
from torpor_endpoint.host import HostError, Launched, Slot

log = logging.getLogger(__name__)


class StartFailed(Exception):
    """An instance did not become ready. `final`: another try cannot help."""

    def __init__(self, reason: str, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


class SlotOwner(Protocol):
    """What the supervisor reports to: the pool that owns the slot."""

    variant: Variant

    def add(self, incarnation: Incarnation) -> None:
        """An incarnation was launched. It is not ready yet."""

    def offer(self, incarnation: Incarnation) -> None:
        """The instance takes requests, for the first time or again."""

    def offered(self, incarnation: Incarnation) -> bool:
        """Whether the instance takes requests."""

    def forget(self, incarnation: Incarnation, why: str) -> None:
        """The incarnation has ended."""

    def failed(self, trouble: StartTrouble) -> None:
        """An instance did not become ready. The supervisor tries again."""


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
            try:
                steady = await self._fill()
                self._deaths = 0 if steady else self._deaths + 1
            except StartFailed as failure:
                log.warning("%s: %s", self.slot, failure)
                self._failed(str(failure), failure.final)
            except Exception as fault:  # outer edge of the slot's task: an unforeseen fault must not end it for ever
                log.exception("%s failed; starting its instance again", self.slot)
                self._failed(f"{type(fault).__name__}: {fault}")
            await self._empty()
            await asyncio.sleep(self._timing.restart_pause_s(self._failures, self._deaths))
            self._why = "the one before it ended"

    async def _empty(self) -> None:
        """End whatever is left in the slot. If the host cannot do so now, it does so with the next launch."""
        try:
            await self._factory.host.terminate(self.slot, 0.0)
        except Exception:  # outer edge, as above
            log.exception("cannot end what is left in %s", self.slot)

    def _failed(self, reason: str, final: bool = False) -> None:
        self._failures += 1
        self._pool.failed(StartTrouble(reason, self._failures, final))

    async def _fill(self) -> bool:
        """Run one incarnation from its launch to its end. True if it was ready for `steady_s`. Raises StartFailed."""
        clock = asyncio.get_running_loop().time
        incarnation, launched = await self._launched()
        ended = asyncio.ensure_future(self._factory.host.exited(self.slot))
        self._pool.add(incarnation)
        why = "it did not become ready"
        try:
            await self._until_ready(incarnation, ended, launched.log)
            ready_at_s, self._failures = clock(), 0
            self._pool.offer(incarnation)
            why = await self._watch(incarnation, ended, launched.log)
            return clock() - ready_at_s >= self._timing.steady_s
        finally:
            ended.cancel()
            self._pool.forget(incarnation, why)

    async def _launched(self) -> tuple[Incarnation, Launched]:
        began_s = self._factory.clock()
        try:
            launched = await self._factory.host.launch(self._factory.spec(self._pool.variant, self.slot))
        except (HostError, OSError, ValueError) as error:
            raise StartFailed(str(error)) from error
        life = self._factory.began(self._pool.variant, launched, self._why, began_s)
        upstream, multiplexed = Upstream(launched.socket), Multiplexed(launched.socket, wire.INVOCATIONS)
        return Incarnation(launched.slot, launched.incarnation, upstream, multiplexed, life), launched

    async def _until_ready(
        self, incarnation: Incarnation, ended: "asyncio.Future[Launched]", output: Path | None
    ) -> None:
        clock = asyncio.get_running_loop().time
        not_before_s = clock() + self._factory.start_delay_s(self._pool.variant)
        try:
            async with asyncio.timeout(self._pool.variant.startup_timeout_s):
                await self._until_it_answers(incarnation, ended, output)
        except TimeoutError:
            incarnation.happened(InstanceEvent.TIMED_OUT)
            last_output = await last_line(output)
            raise StartFailed(f"no good ping within {self._pool.variant.startup_timeout_s:g} s{last_output}") from None
        await asyncio.wait([ended], timeout=max(0.0, not_before_s - clock()))
        await _check_running(incarnation, ended, output)
        await incarnation.multiplexed.connect(self._timing.ping_within_s)
        incarnation.happened(InstanceEvent.PING_OK)
        incarnation.life = self._factory.ready(incarnation.life)

    async def _until_it_answers(
        self, incarnation: Incarnation, ended: "asyncio.Future[Launched]", output: Path | None
    ) -> None:
        for probes in count():
            await _check_running(incarnation, ended, output)
            if await self._answers(incarnation, self._pool.variant.container.multi_model):
                return
            if fault := await final_fault(incarnation.upstream, self._timing.ping_within_s):
                raise StartFailed(fault, final=True)
            await truncate_if_large(output)
            await asyncio.sleep(self._timing.probe_pause_s(probes))

    async def _watch(self, incarnation: Incarnation, ended: "asyncio.Future[Launched]", output: Path | None) -> str:
        """Watch a ready instance until it ends or its pings keep failing, and return the reason.

        AWS replaces an instance whose ping keeps failing too.
        """
        ended.add_done_callback(lambda _: incarnation.doubt.set())
        misses = 0
        while misses < self._timing.unhealthy_after:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.health_period_s):
                    await incarnation.doubt.wait()
            incarnation.doubt.clear()
            if ended.done():
                log.warning("%s: %s", incarnation.slot, ended.result().reason)
                incarnation.happened(InstanceEvent.DIED)
                return ended.result().reason
            misses = 0 if await self._answers(incarnation, multi_model=False) else misses + 1
            await truncate_if_large(output)
            if not misses:
                await incarnation.multiplexed.connect(self._timing.ping_within_s)  # does nothing if it is open
            if not misses and not self._pool.offered(incarnation):
                self._pool.offer(incarnation)  # it was suspected, but it answers
        log.warning("%s: %d pings in a row failed", incarnation.slot, misses)
        incarnation.happened(InstanceEvent.TIMED_OUT)
        return f"{misses} pings in a row failed"

    async def _answers(self, incarnation: Incarnation, multi_model: bool) -> bool:
        return await answers(incarnation.upstream, multi_model, self._timing.ping_within_s)


async def _check_running(incarnation: Incarnation, ended: "asyncio.Future[Launched]", output: Path | None) -> None:
    """Raises StartFailed if the instance has ended."""
    if ended.done():
        incarnation.happened(InstanceEvent.DIED)
        raise StartFailed(f"{ended.result().reason}{await last_line(output)}")
