"""The instances of one variant: started, probed, watched, replaced when they die, drained when they go.

How many there should be is told to it (`scale`); whether a probe's answer moves an instance on is the lifecycle
table's; a crew only carries that out.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from torpor_container.upstream import Upstream
from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase, move_instance
from torpor_endpoint.host import Host, HostError, Launched, LaunchSpec, Slot
from torpor_endpoint.images import Images
from torpor_endpoint.probe import answers, bound, final_fault, last_line
from torpor_endpoint.records import Variant

PROBE_PAUSES_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25)
HEALTH_PERIOD_S = 5.0
UNHEALTHY_AFTER = 3
RESTART_PAUSES_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
GRACE_S = 30.0
"""AWS: SIGTERM, then SIGKILL 30 s later."""

log = logging.getLogger(__name__)


class StartFailed(Exception):
    """An instance did not become ready. `final` if trying again cannot help."""

    def __init__(self, reason: str, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


@dataclass(eq=False)
class Member:
    """One incarnation of a slot, as the router sees it."""

    slot: Slot
    incarnation: str
    upstream: Upstream
    phase: InstancePhase = InstancePhase.STARTING
    in_flight: int = 0
    last_seq: int = 0  # the last decision read from it
    doubt: asyncio.Event = field(default_factory=asyncio.Event)  # the watch shall look now

    def happened(self, event: InstanceEvent) -> None:
        self.phase = move_instance(self.phase, event)


@dataclass(frozen=True)
class Trouble:
    """The last start that failed, and how many failed in a row."""

    reason: str
    failures: int
    final: bool


class Numbers:
    """The slot numbers of one endpoint: always the lowest free one, so that the slot's disk is found again."""

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def take(self) -> int:
        number = next(number for number in count() if number not in self._taken)
        self._taken.add(number)
        return number

    def give(self, number: int) -> None:
        self._taken.discard(number)


async def unsung(endpoint: str, variant: str, member: Member) -> None:
    """Nobody wants to know what an instance has to say before it goes."""


@dataclass(frozen=True)
class Yard:
    """What crews are made with. `farewell` is asked for each instance that has drained, while it still answers."""

    host: Host
    spec: Callable[[Variant, Slot], LaunchSpec]
    farewell: Callable[[str, str, Member], Awaitable[None]] = unsung
    images: Images = field(default_factory=Images)


class Crew:
    """One variant's instances."""

    def __init__(
        self,
        endpoint: str,
        variant: Variant,
        yard: Yard,
        numbers: Numbers,
    ) -> None:
        self.endpoint = endpoint
        self.variant = variant
        self.ready: dict[str, Member] = {}
        self.trouble: Trouble | None = None
        self.closed = False
        self.in_flight = 0
        self.last_request_s = 0.0
        self.held = 0
        self.held_bytes = 0
        self._yard = yard
        self._host = yard.host
        self._numbers = numbers
        self._tended: dict[int, asyncio.Task[None]] = {}
        self._members: dict[int, Member] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._change = asyncio.Event()

    @property
    def size(self) -> int:
        """How many are wanted now."""
        return len(self._tended)

    @property
    def leaving(self) -> int:
        """How many are not wanted any more, and not gone yet."""
        return len(self._leaving)

    def scale(self, size: int) -> None:
        """Want this many. More are started at once, in parallel; the highest slot numbers are the first to go."""
        while len(self._tended) < size:
            number = self._numbers.take()
            self._tended[number] = asyncio.create_task(self._tend(number), name=f"tend {self.variant.name}/{number}")
        for number in sorted(self._tended)[size:]:
            self._retire(number)

    def wake(self) -> None:
        """Somebody waits: want one instance at least. However many call, it is one wake."""
        if not self._tended and not self.closed:
            self.scale(1)

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something about the crew is so."""
        while not true():
            await self._change.wait()

    async def close(self) -> None:
        """Drain and stop every instance, for good: who still waits for one must look elsewhere."""
        self.closed = True
        self._changed()
        self.scale(0)
        while leaving := set(self._leaving):
            await asyncio.gather(*leaving, return_exceptions=True)
            self._leaving -= leaving

    def released(self, member: Member) -> None:
        """A request of this member has been answered."""
        member.in_flight -= 1
        if member.in_flight == 0 and member.phase is InstancePhase.DRAINING:
            self._changed()

    def suspect(self, member: Member) -> None:
        """It took no connection or broke one, so it gets no more requests until the watch has looked at it."""
        if self.ready.get(str(member.slot)) is member:
            del self.ready[str(member.slot)]
        member.doubt.set()

    @property
    def answer_within_s(self) -> float:
        """How long an instance may take by its own settings: loading, then one prediction."""
        settings = self.variant.container.environment
        waits = {"TORPOR_READY_WAIT_SECONDS": 60.0, "TORPOR_INVOCATION_TIMEOUT_SECONDS": 60.0}
        return sum(float(settings.get(name, default)) for name, default in waits.items())

    # -- one slot --------------------------------------------------------------------------------------------------
    async def _tend(self, number: int) -> None:
        """Keep one slot filled for as long as it is wanted."""
        failures = 0
        while True:
            try:
                await self._fill(number)
                failures = 0
            except StartFailed as failure:
                failures += 1
                self.trouble = Trouble(str(failure), failures, failure.final)
                log.warning("%s/%s/%d: %s", self.endpoint, self.variant.name, number, failure)
            await self._host.terminate(self._slot(number), 0.0)
            await asyncio.sleep(RESTART_PAUSES_S[min(failures, len(RESTART_PAUSES_S) - 1)])

    async def _fill(self, number: int) -> None:
        """One incarnation, from its launch to its end. Raises StartFailed."""
        try:
            launched = await self._host.launch(self._yard.spec(self.variant, self._slot(number)))
        except (HostError, OSError, ValueError) as error:
            raise StartFailed(str(error)) from error
        member = Member(launched.slot, launched.incarnation, Upstream(launched.socket))
        self._members[number] = member
        ended = asyncio.ensure_future(self._host.exited(launched.slot))
        self._changed()
        try:
            await self._until_ready(member, ended, launched.log)
            self.trouble = None
            self._offer(member)
            await self._watch(member, ended, launched.log)
        finally:
            ended.cancel()
            self._forget(number, member)

    async def _until_ready(self, member: Member, ended: "asyncio.Future[Launched]", output: Path | None) -> None:
        try:
            async with asyncio.timeout(self.variant.startup_timeout_s):
                for pause_s in _pauses():
                    if ended.done():
                        raise StartFailed(f"{ended.result().reason}{await last_line(output)}")
                    if await answers(member.upstream, self.variant.container.multi_model):
                        member.happened(InstanceEvent.PING_OK)
                        return
                    if fault := await final_fault(member.upstream):
                        raise StartFailed(fault, final=True)
                    await asyncio.sleep(pause_s)
        except TimeoutError:
            member.happened(InstanceEvent.TIMED_OUT)
            said = await last_line(output)
            raise StartFailed(f"no good ping within {self.variant.startup_timeout_s:g} s{said}") from None

    async def _watch(self, member: Member, ended: "asyncio.Future[Launched]", output: Path | None) -> None:
        """AWS replaces an instance whose ping keeps failing; one whose process ended is replaced at once."""
        ended.add_done_callback(lambda _: member.doubt.set())
        misses = 0
        while misses < UNHEALTHY_AFTER:
            with suppress(TimeoutError):
                await asyncio.wait_for(member.doubt.wait(), HEALTH_PERIOD_S)
            member.doubt.clear()
            if ended.done():
                log.warning("%s: %s", member.slot, ended.result().reason)
                member.happened(InstanceEvent.DIED)
                return
            misses = 0 if await answers(member.upstream, multi_model=False) else misses + 1
            await bound(output)
            if not misses and str(member.slot) not in self.ready:
                self._offer(member)  # it was suspected, and is well
        log.warning("%s: %d pings in a row failed", member.slot, misses)
        member.happened(InstanceEvent.TIMED_OUT)

    def _offer(self, member: Member) -> None:
        self.ready[str(member.slot)] = member
        self._changed()

    def _forget(self, number: int, member: Member) -> None:
        """An incarnation is over. One that is draining is not forgotten: `_retire` has taken it over."""
        if self._members.get(number) is member:
            del self._members[number]
            self.ready.pop(str(member.slot), None)
            member.upstream.close()
        self._changed()

    # -- leaving ---------------------------------------------------------------------------------------------------
    def _retire(self, number: int) -> None:
        member = self._members.pop(number, None)
        if member is not None:
            self.ready.pop(str(member.slot), None)
            member.happened(InstanceEvent.RETIRE)
        tended = self._tended.pop(number)
        tended.cancel()
        leaving = asyncio.create_task(self._leave(number, member, tended))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        self._changed()

    async def _leave(self, number: int, member: Member | None, tended: "asyncio.Task[None]") -> None:
        await asyncio.gather(tended, return_exceptions=True)
        if member is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self.until(lambda: member.in_flight == 0)
            if member.phase is InstancePhase.DRAINING:
                await self._yard.farewell(self.endpoint, self.variant.name, member)
                member.happened(InstanceEvent.TIMED_OUT if member.in_flight else InstanceEvent.LAST_REPLY)
            member.upstream.close()
        await self._host.terminate(self._slot(number), GRACE_S)
        self._numbers.give(number)

    def _slot(self, number: int) -> Slot:
        return Slot(self.endpoint, self.variant.name, number)

    def _changed(self) -> None:
        self._change.set()
        self._change = asyncio.Event()


def _pauses() -> Iterator[float]:
    yield from PROBE_PAUSES_S
    while True:
        yield PROBE_PAUSES_S[-1]
