"""Runs the instances of one variant: starts them, offers the ready ones to the router, and drains those that leave.

The sizer or a deployment sets the wanted number (`scale`). Each slot has a `SlotSupervisor`.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count

from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.records import Variant
from torpor_endpoint.core.sessions import StatefulSessions
from torpor_endpoint.core.traffic import Traffic
from torpor_endpoint.fleet.incarnation import Incarnation, StartTrouble
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.supervision.slot_supervisor import SlotSupervisor
from torpor_endpoint.fleet.variant_settings import TimeLimits, VariantSettings
from torpor_endpoint.host import Slot


class SlotNumbers:
    """Gives out the slot numbers of one variant, always the lowest free one: a new instance finds that slot's disk."""

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
    """The instances of one variant.

    A deployment may replace `variant` by another with the same containers: the settings and the instances stay.
    `answer_within_s` has the time limit of each container, in seconds.
    """

    def __init__(self, endpoint: str, variant: Variant, factory: InstanceFactory, numbers: SlotNumbers) -> None:
        """Raises BadSetting if a setting of the variant that the endpoint acts on cannot be read."""
        self.endpoint = endpoint
        self.variant = variant
        self.settings = VariantSettings.read(variant.containers)
        self.answer_within_s = [TimeLimits.read(one.environment).answer_within_s for one in variant.containers]
        self.ready: Placement[Incarnation] = Placement()
        self.trouble: StartTrouble | None = None
        self.closed = False
        self.traffic = Traffic()
        self.sessions = StatefulSessions()
        self.at_least = 0  # an update waits for so many instances: the sizer removes none of them
        self.resized = False  # an update named a size, and the sizer has not read that yet
        self._factory = factory
        self._numbers = numbers
        self._supervised: dict[int, asyncio.Task[None]] = {}
        self._incarnations: dict[int, Incarnation] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._change = asyncio.Event()

    @property
    def size(self) -> int:
        """The number of instances that are wanted now."""
        return len(self._supervised)

    @property
    def hopeless(self) -> bool:
        """Whether requests should stop waiting for an instance: the starts fail."""
        return self.trouble is not None and self.trouble.hopeless

    @property
    def leaving(self) -> int:
        """The number of instances that are no longer wanted and have not stopped yet."""
        return len(self._leaving)

    @property
    def incarnations(self) -> list[Incarnation]:
        """Every instance that runs and is wanted, ready or not."""
        return list(self._incarnations.values())

    def scale(self, size: int, why: str) -> None:
        """Want this many instances.

        The pool starts missing instances in parallel. If there are too many, those that are not ready leave first, and
        then those with the highest slot numbers.
        """
        size = 0 if self.closed else size
        if not self._supervised or self.ready:
            self.trouble = None  # it belongs to an earlier start
        while len(self._supervised) < size:
            number = self._numbers.take()
            supervisor = SlotSupervisor(self, Slot(self.endpoint, self.variant.name, number), self._factory, why)
            self._supervised[number] = asyncio.create_task(supervisor.run(), name=f"supervise {supervisor.slot}")
        for number in sorted(self._supervised, key=self._stays)[size:]:
            self._retire(number, why)

    def _stays(self, number: int) -> tuple[bool, int]:
        """The sort key of a slot: instances with the lowest keys stay longest."""
        return self.ready.get(str(Slot(self.endpoint, self.variant.name, number))) is None, number

    def become(self, variant: Variant) -> None:
        """Go on with another variant that has the same container."""
        self.variant = variant
        for incarnation in self._incarnations.values():
            incarnation.life = self._factory.updated(incarnation.life, variant)

    def wake(self) -> None:
        """Want at least one instance, because a request waits. A second call changes nothing while one is wanted."""
        if not self._supervised and not self.closed:
            self.scale(1, "somebody calls")

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until the condition `true` holds. The pool checks it after each of its changes."""
        while not true():
            await self._change.wait()

    async def close(self, why: str) -> None:
        """Drain and stop every instance, for good. Requests that still wait must choose another pool."""
        self.closed = True
        self._changed()
        self.scale(0, why)
        while leaving := set(self._leaving):
            await asyncio.gather(*leaving, return_exceptions=True)
            self._leaving -= leaving

    @contextmanager
    def streaming(self, incarnation: Incarnation) -> Iterator[None]:
        """Use the incarnation for a stream, which a drain waits for."""
        incarnation.in_flight += 1
        incarnation.streams += 1
        try:
            yield
        finally:
            incarnation.streams -= 1
            self.released(incarnation)

    def released(self, incarnation: Incarnation) -> None:
        """Count one request of this incarnation as answered."""
        incarnation.in_flight -= 1
        if incarnation.in_flight == 0 and incarnation.phase is InstancePhase.DRAINING:
            self._changed()

    def suspect(self, incarnation: Incarnation) -> None:
        """Send no requests to an incarnation that broke or refused a connection until its supervisor has pinged it."""
        if self.offered(incarnation):
            self.ready.withdraw(str(incarnation.slot))
        incarnation.suspect()

    # -- SlotOwner: what a slot's supervisor reports ------------------------------------------------------------------
    def add(self, incarnation: Incarnation) -> None:
        self._incarnations[incarnation.slot.number] = incarnation
        self._changed()

    def offer(self, incarnation: Incarnation) -> None:
        self.trouble = None
        self.ready.offer(str(incarnation.slot), incarnation)
        self._changed()

    def offered(self, incarnation: Incarnation) -> bool:
        return self.ready.get(str(incarnation.slot)) is incarnation

    def forget(self, incarnation: Incarnation, why: str) -> None:
        """Remove an incarnation that has ended. It does nothing for a retired one, whose end `_leave` records."""
        if self._incarnations.get(incarnation.slot.number) is incarnation:
            del self._incarnations[incarnation.slot.number]
            self.ready.withdraw(str(incarnation.slot))
            incarnation.hang_up()
            self._factory.ended(incarnation.life, why)
        self._changed()

    def failed(self, trouble: StartTrouble) -> None:
        self.trouble = trouble
        self._changed()

    # -- leaving ---------------------------------------------------------------------------------------------------
    def _retire(self, number: int, why: str) -> None:
        incarnation = self._incarnations.pop(number, None)
        if incarnation is not None:
            self.ready.withdraw(str(incarnation.slot))
            incarnation.happened(InstanceEvent.RETIRE)
        task = self._supervised.pop(number)
        task.cancel()
        leaving = asyncio.create_task(self._leave(number, incarnation, task, why))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        self._changed()

    async def _leave(self, number: int, incarnation: Incarnation | None, task: "asyncio.Task[None]", why: str) -> None:
        grace_s = self._factory.timing.grace_s
        try:
            await asyncio.gather(task, return_exceptions=True)
            if incarnation is not None and not await self._drained(incarnation):
                grace_s = 0.0  # it has used its grace period for requests
        except asyncio.CancelledError:
            grace_s = 0.0  # the endpoint stops: kill it now
            raise
        finally:
            try:
                slot = Slot(self.endpoint, self.variant.name, number)
                await self._factory.terminate(self.variant, slot, grace_s)
            finally:
                if incarnation is not None:
                    self._factory.ended(incarnation.life, why)
                self._numbers.give(number)

    async def _drained(self, incarnation: Incarnation) -> bool:
        """Wait until the incarnation has answered its requests, for the grace period at most, or as long as
        a stream may take. True if it has."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._factory.timing.grace_s):
                await self.until(lambda: incarnation.in_flight == 0)
        if incarnation.streams:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._factory.timing.stream_s):
                    await self.until(lambda: incarnation.in_flight == 0)
        if incarnation.phase is InstancePhase.DRAINING:
            await self._factory.farewell(self.endpoint, self.variant.name, incarnation)
            incarnation.happened(InstanceEvent.TIMED_OUT if incarnation.in_flight else InstanceEvent.LAST_REPLY)
        drained = incarnation.in_flight == 0
        incarnation.hang_up()  # requests that still wait get an error, and count as answered
        return drained

    def _changed(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
