"""One slot of a variant, kept filled: its instance is started, probed, watched, and started anew when it dies.

What an instance's end or a failed ping means is the lifecycle table's; whether the slot is wanted at all is the crew's.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from torpor_container.upstream import Upstream
from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase
from torpor_endpoint.host import HostError, Launched, Slot
from torpor_endpoint.members import Member, Trouble
from torpor_endpoint.probe import answers, bound, final_fault, last_line
from torpor_endpoint.records import Variant
from torpor_endpoint.yard import Yard

PROBE_PAUSES_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25)
HEALTH_PERIOD_S = 5.0
UNHEALTHY_AFTER = 3
RESTART_PAUSES_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

log = logging.getLogger(__name__)


class StartFailed(Exception):
    """An instance did not become ready. `final` if trying again cannot help."""

    def __init__(self, reason: str, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


class Crew(Protocol):
    """Who wants the slot filled, and is told how that goes."""

    variant: Variant
    trouble: Trouble | None

    def took_in(self, member: Member) -> None:
        """An incarnation was launched; it is not ready."""

    def offer(self, member: Member) -> None:
        """It can be given requests, now or again."""

    def offered(self, member: Member) -> bool: ...

    def forget(self, member: Member) -> None:
        """It is over."""


class Tending:
    """`why` its first incarnation was wanted; the later ones stand in for one that died."""

    def __init__(self, crew: Crew, slot: Slot, yard: Yard, why: str) -> None:
        self.slot = slot
        self._crew = crew
        self._yard = yard
        self._why = why

    async def run(self) -> None:
        """Keep the slot filled until cancelled."""
        failures = 0
        while True:
            try:
                await self._fill()
                failures = 0
            except StartFailed as failure:
                failures += 1
                self._crew.trouble = Trouble(str(failure), failures, failure.final)
                log.warning("%s: %s", self.slot, failure)
            await self._yard.host.terminate(self.slot, 0.0)
            await asyncio.sleep(RESTART_PAUSES_S[min(failures, len(RESTART_PAUSES_S) - 1)])
            self._why = "the one before it ended"

    async def _fill(self) -> None:
        """One incarnation, from its launch to its end. Raises StartFailed."""
        member, launched = await self._launched()
        ended = asyncio.ensure_future(self._yard.host.exited(self.slot))
        self._crew.took_in(member)
        why = "it did not become ready"
        try:
            await self._until_ready(member, ended, launched.log)
            self._crew.trouble = None
            self._crew.offer(member)
            why = await self._watch(member, ended, launched.log)
        finally:
            ended.cancel()
            if member.phase is not InstancePhase.DRAINING:  # else whoever retires it sees it out
                self._yard.ended(member.life, why)
            self._crew.forget(member)

    async def _launched(self) -> tuple[Member, Launched]:
        began_s = self._yard.clock()
        try:
            launched = await self._yard.host.launch(self._yard.spec(self._crew.variant, self.slot))
        except (HostError, OSError, ValueError) as error:
            raise StartFailed(str(error)) from error
        life = self._yard.began(self._crew.variant, launched, self._why, began_s)
        return Member(launched.slot, launched.incarnation, Upstream(launched.socket), life), launched

    async def _until_ready(self, member: Member, ended: "asyncio.Future[Launched]", output: Path | None) -> None:
        clock = asyncio.get_running_loop().time
        not_before_s = clock() + self._yard.start_delay_s(self._crew.variant)
        try:
            async with asyncio.timeout(self._crew.variant.startup_timeout_s):
                await self._until_it_answers(member, ended, output)
        except TimeoutError:
            member.happened(InstanceEvent.TIMED_OUT)
            said = await last_line(output)
            raise StartFailed(f"no good ping within {self._crew.variant.startup_timeout_s:g} s{said}") from None
        await asyncio.sleep(not_before_s - clock())
        member.happened(InstanceEvent.PING_OK)
        member.life = replace(member.life, ready_s=self._yard.clock())
        self._yard.lived(member.life)

    async def _until_it_answers(self, member: Member, ended: "asyncio.Future[Launched]", output: Path | None) -> None:
        for pause_s in _pauses():
            if ended.done():
                raise StartFailed(f"{ended.result().reason}{await last_line(output)}")
            if await answers(member.upstream, self._crew.variant.container.multi_model):
                return
            if fault := await final_fault(member.upstream):
                raise StartFailed(fault, final=True)
            await asyncio.sleep(pause_s)

    async def _watch(self, member: Member, ended: "asyncio.Future[Launched]", output: Path | None) -> str:
        """Why it is over. AWS replaces an instance whose ping keeps failing; one that ended is replaced at once."""
        ended.add_done_callback(lambda _: member.doubt.set())
        misses = 0
        while misses < UNHEALTHY_AFTER:
            with suppress(TimeoutError):
                await asyncio.wait_for(member.doubt.wait(), HEALTH_PERIOD_S)
            member.doubt.clear()
            if ended.done():
                log.warning("%s: %s", member.slot, ended.result().reason)
                member.happened(InstanceEvent.DIED)
                return ended.result().reason
            misses = 0 if await answers(member.upstream, multi_model=False) else misses + 1
            await bound(output)
            if not misses and not self._crew.offered(member):
                self._crew.offer(member)  # it was suspected, and is well
        log.warning("%s: %d pings in a row failed", member.slot, misses)
        member.happened(InstanceEvent.TIMED_OUT)
        return f"{misses} pings in a row failed"


def _pauses() -> Iterator[float]:
    yield from PROBE_PAUSES_S
    while True:
        yield PROBE_PAUSES_S[-1]
