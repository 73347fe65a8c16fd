"""Runs the instances of one variant: starts them, offers the ready ones to the router, and drains those that leave.

The sizer or a deployment sets the wanted number (`scale`). Each slot has a `SlotSupervisor`.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import count

from torpor_account.log_lines import about
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.supervision.slot_supervisor import SlotSupervisor
from torpor_endpoint.host import Slot
from torpor_endpoint.in_service.incarnation import Incarnation, StartTrouble
from torpor_endpoint.in_service.pool import VariantPool

log = logging.getLogger(__name__)


def unoccupied(number: int) -> bool:
    """Nothing needs the instance but requests, which it finishes before it leaves."""
    return False


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

    def take_this(self, number: int) -> None:
        """Take the number of a slot that holds an instance already."""
        self._taken.add(number)

    def give(self, number: int) -> None:
        self._taken.discard(number)


class InstancePool(VariantPool):
    """The instances of one variant. A deployment may replace `variant`: the settings and the instances stay."""

    def __init__(self, endpoint: str, variant: Variant, factory: InstanceFactory, numbers: SlotNumbers) -> None:
        """Raises BadSetting if a setting of the variant that the endpoint acts on cannot be read."""
        super().__init__(endpoint, variant, factory.others.touched)
        self.at_least = 0  # an update waits for so many instances: the sizer removes none of them
        self.resized = False  # an update named a size, and the sizer has not read that yet
        self.occupied: Callable[[int], bool] = unoccupied  # whether the instance in a slot has to stay for now
        self._factory = factory
        self._numbers = numbers
        self._supervised: dict[int, asyncio.Task[None]] = {}
        self._incarnations: dict[int, Incarnation] = {}
        self._lives: dict[Incarnation, InstanceLife] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def size(self) -> int:
        """The number of instances that are wanted now."""
        return len(self._supervised)

    @property
    def numbers(self) -> list[int]:
        """The slots of the instances that are wanted now, in ascending order."""
        return sorted(self._supervised)

    @property
    def leaving(self) -> int:
        """The number of instances that are no longer wanted and have not stopped yet."""
        return len(self._leaving)

    @property
    def incarnations(self) -> list[Incarnation]:
        """Every instance that runs and is wanted, ready or not."""
        return list(self._incarnations.values())

    def scale(self, size: int, why: str) -> None:
        """Want this many instances. Missing ones start in parallel. Of too many, those that are not ready leave first,
        then those with the highest slot numbers. An occupied one stays until it is retired."""
        size = 0 if self.closed else size
        if not self._supervised or self.ready:
            self.trouble = None  # it belongs to an earlier start
        while len(self._supervised) < size and (number := self.take_slot()) is not None:
            self.supervise(number, why)
        for number in sorted(self._supervised, key=self._stays)[size:]:
            if self.closed or not self.occupied(number):
                self._retire(number, why)
        self._factory.changed(self.endpoint)

    def retire(self, number: int, why: str) -> None:
        """Want the instance in this slot no longer."""
        if number in self._supervised:
            self._retire(number, why)

    def adopt(self, numbers: Collection[int]) -> None:
        """Want the instances in these slots, which an earlier endpoint process launched."""
        self.begin_with(numbers)
        for number in numbers:
            self._numbers.take_this(number)
            self.supervise(number, "it ran already")

    def end(self, numbers: Collection[int], why: str) -> None:
        """End the instances in these slots, which an earlier endpoint process launched for another configuration."""
        for number in numbers:
            self._numbers.take_this(number)
            self._begin_leaving(number, None, None, why)

    def take_slot(self) -> int | None:
        """The slot of the next instance, which is its own from now on; None if there is no room for one."""
        return self._numbers.take()

    def _freed(self, number: int) -> None:
        """The instance in this slot is gone."""
        self._numbers.give(number)

    def supervise(self, number: int, why: str) -> None:
        """Want an instance in this slot, which was taken for it."""
        supervisor = SlotSupervisor(self, Slot(self.endpoint, self.variant.name, number), self._factory, why)
        self._supervised[number] = asyncio.create_task(supervisor.run(), name=f"supervise {supervisor.slot}")

    def _stays(self, number: int) -> tuple[bool, bool, int]:
        """The sort key of a slot: instances with the lowest keys stay longest."""
        return not self.occupied(number), self.ready.get(number) is None, number

    def become(self, variant: Variant) -> None:
        super().become(variant)
        for incarnation in self._incarnations.values():
            self._lives[incarnation] = self._factory.updated(self._lives[incarnation], variant)
        self._factory.changed(self.endpoint)

    def life_of(self, incarnation: Incarnation) -> InstanceLife:
        """The row of the ledger of an instance that runs and is wanted."""
        return self._lives[incarnation]

    def wake(self) -> None:
        if not self._supervised and not self.closed:
            self.scale(1, "somebody calls")

    async def close(self, why: str) -> None:
        """Drain and stop every instance, for good. Requests that still wait must choose another pool."""
        self.closed = True
        self._newcomers.end()
        self.changed()
        self.scale(0, why)
        while leaving := set(self._leaving):
            await asyncio.gather(*leaving, return_exceptions=True)
            self._leaving -= leaving

    async def until_left(self) -> None:
        """Wait until the instances that are no longer wanted have stopped."""
        while leaving := set(self._leaving):
            await asyncio.wait(leaving)
            self._leaving -= leaving

    async def detach(self) -> None:
        """Let the instances run on, for the next endpoint process to adopt. Requests that still wait are lost."""
        self.closed = True
        self.changed()
        tasks, self._supervised = list(self._supervised.values()), {}
        incarnations, self._incarnations = self.incarnations, {}
        for incarnation in incarnations:
            del self._lives[incarnation]  # its life goes on; those of leaving instances end
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._leaving, return_exceptions=True)
        for incarnation in incarnations:
            incarnation.hang_up()

    # -- SlotOwner: what a slot's supervisor reports ------------------------------------------------------------------
    def add(self, incarnation: Incarnation, life: InstanceLife) -> None:
        self._incarnations[incarnation.slot.number] = incarnation
        self._lives[incarnation] = life
        self.changed()

    def became_ready(self, incarnation: Incarnation) -> None:
        self._lives[incarnation] = self._factory.ready(self._lives[incarnation])

    def offer(self, incarnation: Incarnation) -> None:
        self.trouble = None
        self.ready.offer(incarnation.slot.number, incarnation)
        self.changed()

    def forget(self, incarnation: Incarnation, why: str) -> None:
        """Remove an incarnation that has ended. It does nothing for a retired one, whose end `_leave` records."""
        if self._incarnations.get(incarnation.slot.number) is incarnation:
            del self._incarnations[incarnation.slot.number]
            self.ready.withdraw(incarnation.slot.number)
            incarnation.hang_up()
            self._factory.ended(self._lives.pop(incarnation), why)
        self.changed()

    def failed(self, trouble: StartTrouble) -> None:
        self.trouble = trouble
        self.changed()

    def changed(self) -> None:
        super().changed()
        self._factory.changed(self.endpoint)

    # -- leaving ---------------------------------------------------------------------------------------------------
    def _retire(self, number: int, why: str) -> None:
        incarnation = self._incarnations.pop(number, None)
        if incarnation is not None:
            self.ready.withdraw(incarnation.slot.number)
            incarnation.happened(InstanceEvent.RETIRE)
        task = self._supervised.pop(number)
        task.cancel()
        self._begin_leaving(number, incarnation, task, why)

    def _begin_leaving(
        self, number: int, incarnation: Incarnation | None, supervisor: "asyncio.Task[None] | None", why: str
    ) -> None:
        leaving = asyncio.create_task(self._leave(number, incarnation, supervisor, why))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        self.changed()

    async def _leave(
        self, number: int, incarnation: Incarnation | None, supervisor: "asyncio.Task[None] | None", why: str
    ) -> None:
        grace_s, patient = self._factory.timing.grace_s, True
        try:
            if supervisor is not None:
                await asyncio.gather(supervisor, return_exceptions=True)
            if incarnation is None:
                for adopted in self._factory.adopted_in(Slot(self.endpoint, self.variant.name, number)):
                    await self._until_unused(adopted)
            elif not await self._drained(incarnation):
                grace_s = 0.0  # it has used its grace period for requests
        except asyncio.CancelledError:
            grace_s, patient = 0.0, False  # the endpoint stops: kill it now
            raise
        finally:
            try:
                await self._terminate(Slot(self.endpoint, self.variant.name, number), grace_s, patient)
            finally:
                if incarnation is not None:
                    self._factory.ended(self._lives.pop(incarnation), why)
                self._freed(number)

    async def _terminate(self, slot: Slot, grace_s: float, patient: bool) -> None:
        """End what is in the slot. A host that cannot do so now is asked again and again, if `patient`."""
        for failures in count():
            try:
                await self._factory.terminate(self.variant, slot, grace_s)
                return
            except Exception as fault:  # outer edge: whatever the host raises, the instance may still run
                if not patient:
                    raise
                pause_s = self._factory.timing.end_pause_s(failures)
                fields = about(endpoint=slot.endpoint, variant=slot.variant)
                log.warning("%s cannot be ended now: %s; next try in %g s", slot, fault, pause_s, extra=fields)
                await asyncio.sleep(pause_s)

    async def _drained(self, incarnation: Incarnation) -> bool:
        """Wait until the incarnation has answered its requests, for the grace period at most, or as long as
        a stream may take. True if it has."""
        await self._until_unused(incarnation.id, incarnation)
        if incarnation.phase is InstancePhase.DRAINING:
            await self._factory.farewell(self.endpoint, self.variant.name, incarnation)
            incarnation.happened(InstanceEvent.TIMED_OUT if incarnation.in_flight else InstanceEvent.LAST_REPLY)
        drained = incarnation.in_flight == 0
        incarnation.hang_up()  # requests that still wait get an error, and count as answered
        return drained

    async def _until_unused(self, instance: str, own: Incarnation | None = None) -> None:
        """Wait until nobody uses the instance any more, for the grace period at most, or as long as a stream may take.
        `own` is its record, if this process has sent it requests: routers may have done so before it was there."""

        def unused() -> bool:
            return (own is None or own.in_flight == 0) and not self._factory.others.uses(instance)

        with suppress(TimeoutError):
            async with asyncio.timeout(self._factory.timing.grace_s):
                await self._seen(unused)
        if (own is not None and own.streams) or self._factory.others.streams(instance):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._stream_s):
                    await self._seen(unused)

    async def _seen(self, unused: Callable[[], bool]) -> None:
        """Wait until it holds."""
        with self._factory.others.drains.of(self):
            await self.until(unused)

    @property
    def _stream_s(self) -> float:
        """How long a drain waits for streams. Asynchronous requests are streams too."""
        stream_s = self._factory.timing.stream_s
        return stream_s if self.variant.asynchronous is None else max((stream_s, *self.answer_within_s))
