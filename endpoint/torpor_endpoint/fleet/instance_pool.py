"""The instances of one variant: as many as are wanted, offered to the router while ready, drained when they go.

How many there should be is told to it (`scale`); each slot has a `SlotSupervisor`.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.records import Variant
from torpor_endpoint.core.traffic import Traffic
from torpor_endpoint.fleet.incarnation import Incarnation, StartTrouble
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.slot_supervisor import SlotSupervisor
from torpor_endpoint.fleet.variant_settings import VariantSettings
from torpor_endpoint.host import Slot


class SlotNumbers:
    """The slot numbers of one variant: always the lowest free one, so that the slot's disk is found again."""

    def __init__(self) -> None:
        self._taken: set[int] = set()

    @property
    def all_free(self) -> bool:
        return not self._taken

    def take(self) -> int:
        number = next(number for number in count() if number not in self._taken)
        self._taken.add(number)
        return number

    def give(self, number: int) -> None:
        self._taken.discard(number)


class InstancePool:
    """One variant's instances.

    `variant` may be replaced by another with the same container: the settings and the instances stay.
    """

    def __init__(self, endpoint: str, variant: Variant, factory: InstanceFactory, numbers: SlotNumbers) -> None:
        """Raises BadSetting if a setting of the variant that the endpoint acts on cannot be read."""
        self.endpoint = endpoint
        self.variant = variant
        self.settings = VariantSettings.read(variant.container.environment)
        self.answer_within_s = self.settings.answer_within_s  # read for each request
        self.ready: Placement[Incarnation] = Placement()
        self.trouble: StartTrouble | None = None
        self.closed = False
        self.traffic = Traffic()
        self.at_least = 0  # an update waits for so many: the sizer takes none of them away
        self.told = False  # an update named a size, and the sizer has not heard of it yet
        self._factory = factory
        self._numbers = numbers
        self._supervised: dict[int, asyncio.Task[None]] = {}
        self._members: dict[int, Incarnation] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._change = asyncio.Event()

    @property
    def size(self) -> int:
        """How many are wanted now."""
        return len(self._supervised)

    @property
    def hopeless(self) -> bool:
        """Whether nobody should wait for it to become ready."""
        return self.trouble is not None and self.trouble.hopeless

    @property
    def leaving(self) -> int:
        """How many are not wanted any more, and not gone yet."""
        return len(self._leaving)

    @property
    def members(self) -> list[Incarnation]:
        """Every instance that runs and is wanted, ready or not."""
        return list(self._members.values())

    def scale(self, size: int, why: str) -> None:
        """Want this many. More are started at once, in parallel. The first to go are those that are not ready, and then
        the highest slot numbers."""
        size = 0 if self.closed else size
        if not self._supervised or self.ready:
            self.trouble = None  # of a start that was given up; this one is another
        while len(self._supervised) < size:
            number = self._numbers.take()
            supervisor = SlotSupervisor(self, Slot(self.endpoint, self.variant.name, number), self._factory, why)
            self._supervised[number] = asyncio.create_task(supervisor.run(), name=f"supervise {supervisor.slot}")
        for number in sorted(self._supervised, key=self._stays)[size:]:
            self._retire(number, why)

    def _stays(self, number: int) -> tuple[bool, int]:
        """The lower, the longer."""
        return self.ready.get(str(Slot(self.endpoint, self.variant.name, number))) is None, number

    def wake(self) -> None:
        """Somebody waits: want one instance at least. However many call, it is one wake."""
        if not self._supervised and not self.closed:
            self.scale(1, "somebody calls")

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something about the pool is so."""
        while not true():
            await self._change.wait()

    async def close(self, why: str) -> None:
        """Drain and stop every instance, for good: who still waits for one must look elsewhere."""
        self.closed = True
        self._changed()
        self.scale(0, why)
        while leaving := set(self._leaving):
            await asyncio.gather(*leaving, return_exceptions=True)
            self._leaving -= leaving

    def released(self, member: Incarnation) -> None:
        """A request of this member has been answered."""
        member.in_flight -= 1
        if member.in_flight == 0 and member.phase is InstancePhase.DRAINING:
            self._changed()

    def suspect(self, member: Incarnation) -> None:
        """It took no connection or broke one, so it gets no more requests until the watch has looked at it."""
        if self.offered(member):
            self.ready.withdraw(str(member.slot))
        member.doubt.set()

    # -- what a slot's supervisor tells -------------------------------------------------------------------------------
    def took_in(self, member: Incarnation) -> None:
        self._members[member.slot.number] = member
        self._changed()

    def offer(self, member: Incarnation) -> None:
        self.trouble = None
        self.ready.offer(str(member.slot), member)
        self._changed()

    def offered(self, member: Incarnation) -> bool:
        return self.ready.get(str(member.slot)) is member

    def forget(self, member: Incarnation, why: str) -> None:
        """One that was retired is not forgotten: `_leave` sees it out."""
        if self._members.get(member.slot.number) is member:
            del self._members[member.slot.number]
            self.ready.withdraw(str(member.slot))
            member.hang_up()
            self._factory.ended(member.life, why)
        self._changed()

    def failed(self, trouble: StartTrouble) -> None:
        self.trouble = trouble
        self._changed()

    # -- leaving ---------------------------------------------------------------------------------------------------
    def _retire(self, number: int, why: str) -> None:
        member = self._members.pop(number, None)
        if member is not None:
            self.ready.withdraw(str(member.slot))
            member.happened(InstanceEvent.RETIRE)
        task = self._supervised.pop(number)
        task.cancel()
        leaving = asyncio.create_task(self._leave(number, member, task, why))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        self._changed()

    async def _leave(self, number: int, member: Incarnation | None, task: "asyncio.Task[None]", why: str) -> None:
        await asyncio.gather(task, return_exceptions=True)
        grace_s = self._factory.timing.grace_s
        try:
            if member is not None and not await self._drained(member):
                grace_s = 0.0  # it has had its time
        except asyncio.CancelledError:
            grace_s = 0.0  # nobody waits for it any more
            raise
        finally:
            try:
                await self._factory.host.terminate(Slot(self.endpoint, self.variant.name, number), grace_s)
            finally:
                if member is not None:
                    self._factory.ended(member.life, why)
                self._numbers.give(number)

    async def _drained(self, member: Incarnation) -> bool:
        """Let it finish what it has: whether it did in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._factory.timing.grace_s):
                await self.until(lambda: member.in_flight == 0)
        if member.phase is InstancePhase.DRAINING:
            await self._factory.farewell(self.endpoint, self.variant.name, member)
            member.happened(InstanceEvent.TIMED_OUT if member.in_flight else InstanceEvent.LAST_REPLY)
        drained = member.in_flight == 0
        member.hang_up()  # whoever still waits is told, and counted as answered
        return drained

    def _changed(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
