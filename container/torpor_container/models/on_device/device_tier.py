"""The tier above memory: which models are on the device, by the same plans as in memory, and how they come and go.

Who leaves the device stays in memory. A model that is on the device is in memory too, so one that leaves memory leaves
the device first (`gone`). One thread makes and frees what is on the device, so that what the device reports by then is
one model's.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from torpor_container.core.residency import Hit, Lead, Residency
from torpor_container.core.sizing import Prior, Sizing
from torpor_container.devices.device import Device, DeviceFull
from torpor_container.errors import LoadOutOfMemory, NoRoom, OutOfMemory
from torpor_container.formats.on_device.device_form import DeviceForm
from torpor_container.models.tier import Tier
from torpor_container.processes.threads import Threads
from torpor_container.wire import DeviceStatus

log = logging.getLogger(__name__)

PRIOR = Prior(fixed_bytes=4 * 1024**2, ratio=1.2)
"""What is assumed of a model on a device before one is measured. Not measured on a device."""
FLOOR_BYTES = 2 * 1024**2
"""CUDA's driver hands out memory in pieces of this size, so no model counts as less."""


@dataclass
class Guest:
    """A model in memory that may enter the device. `disk_bytes` are those of its files."""

    form: DeviceForm
    model_id: str
    disk_bytes: int
    entering: "asyncio.Task[None] | None" = None


class DeviceTier:
    """The models on one device. `clock` measures durations."""

    def __init__(
        self,
        device: Device,
        residency: Residency,
        clock: Callable[[], float],
        calendar: Callable[[], float],
        thread: Threads | None = None,
    ) -> None:
        self.device = device
        self._residency = residency
        self._clock, self._calendar = clock, calendar
        self._thread = thread or Threads(1, "device")
        self._tier = Tier(residency, calendar, self._leave, self._measured)
        self._guests: dict[str, Guest] = {}
        self._sizing = Sizing({"onnx": PRIOR, "xgboost": PRIOR})

    async def close(self) -> None:
        for guest in self._guests.values():
            if guest.entering is not None:
                guest.entering.cancel()
        await self._tier.close()
        self._thread.close()

    def status(self) -> DeviceStatus:
        use = self.device.use()
        return {
            "name": self.device.name,
            "model": self.device.model,
            "busy_percent": use.busy_percent,
            "used_bytes": use.used_bytes,
            "total_bytes": self.device.total_bytes,
            "own_bytes": self.device.own_bytes(),
            "budget_bytes": self._residency.budget_bytes,
            "models": sorted(name for name, _ in self._residency),
        }

    def __contains__(self, name: str) -> bool:
        return name in self._residency

    def joined(self, name: str, guest: Guest) -> None:
        """A model in memory may enter from now on."""
        self._guests[name] = guest

    async def gone(self, name: str) -> None:
        """The model leaves memory, and no call uses it: it leaves the device first, and has left it on return."""
        guest = self._guests.get(name)
        if guest is None:
            return
        if guest.entering is not None:
            guest.entering.cancel()
            await asyncio.gather(guest.entering, return_exceptions=True)
        while self._residency.get(name) is not None:
            if self._residency.drop(name, "it leaves memory", self._calendar()):
                await self._tier.dismiss((name,))
            else:
                await self._tier.change()
        self._guests.pop(name, None)

    # -- lending ---------------------------------------------------------------------------------------------------
    @asynccontextmanager
    async def lend(self, name: str) -> AsyncIterator[None]:
        """Have a model on the device until the block ends. Raises LoadFault with 507 if there is no room for it,
        DeviceLost, LoadFailed."""
        plan = await self._tier.requested(name)
        if not isinstance(plan, Hit):
            await self._entered(name, leads=isinstance(plan, Lead))
        try:
            yield
        finally:
            self._tier.released(name)

    async def make_room(self, name: str) -> bool:
        """Have one idle model leave because a prediction of this model found no memory. False if none is idle."""
        victims = self._residency.evict_one(name, self._calendar())
        await self._tier.dismiss(victims)
        return bool(victims)

    async def _entered(self, name: str, leads: bool) -> None:
        guest = self._guests[name]
        if leads:
            guest.entering = asyncio.create_task(self._enter(name, guest), name=f"{name} enters the device")
        entering = guest.entering
        assert entering is not None
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            if not entering.cancelled():
                entering.add_done_callback(lambda _: self._give_up(name, entering))
            raise

    def _give_up(self, name: str, entering: "asyncio.Task[None]") -> None:
        """End the pin of a caller that waits no more. A failed entry has ended all pins already."""
        if not entering.cancelled() and entering.exception() is None:
            self._tier.released(name)

    # -- entering and leaving --------------------------------------------------------------------------------------
    async def _enter(self, name: str, guest: Guest) -> None:
        residency, began_s = self._residency, self._clock()
        sized_as = guest.model_id, guest.form.format
        try:
            with self._tier.loading(name):
                await self._tier.admitted(name, max(FLOOR_BYTES, self._predicted_bytes(guest)))
                size_bytes = await self._with_room(name, guest)
                self._sizing.measured(*sized_as, guest.disk_bytes, size_bytes)
                residency.loaded(name, size_bytes, self._clock() - began_s, self._calendar(), guest.form.note)
        except NoRoom as error:
            raise NoRoom(f"on {self.device.name}: {error}") from None
        finally:
            guest.entering = None
            self._tier.changed()
        residency.measured(self.device.own_bytes())
        self._tier.dismiss(residency.evict_excess(name, self._calendar()))

    async def _with_room(self, name: str, guest: Guest) -> int:
        """Enter; while the device is full, one idle model after the other leaves. The bytes by which it has grown."""
        while True:
            try:
                return await self._thread.run(self._grown, guest.form)
            except DeviceFull as full:
                if not await self.make_room(name):
                    raise LoadOutOfMemory(f"{name}: {full}; no other model on it is idle") from None

    def _grown(self, form: DeviceForm) -> int:
        before_bytes = self.device.own_bytes()
        form.enter(max(FLOOR_BYTES, self._residency.budget_bytes - before_bytes))
        first_bytes = 0 if before_bytes else self._predicted_of(form)
        return max(FLOOR_BYTES, first_bytes or self.device.own_bytes() - before_bytes)

    def _predicted_bytes(self, guest: Guest) -> int:
        return self._sizing.predict(guest.model_id, guest.form.format, guest.disk_bytes)

    def _predicted_of(self, form: DeviceForm) -> int:
        """The first model brings the process's context, which is no model's: what was predicted counts for it."""
        return next((self._predicted_bytes(one) for one in self._guests.values() if one.form is form), FLOOR_BYTES)

    async def _leave(self, name: str) -> None:
        await self._thread.run(self._guests[name].form.leave)
        self._residency.measured(self.device.own_bytes(), gone=name)

    async def _measured(self) -> int:
        return self.device.own_bytes()


def without_room(error: OutOfMemory, device: str) -> OutOfMemory:
    """What a caller learns once no other model can leave for its prediction."""
    return OutOfMemory(f"{error}; no other model on {device} is idle")
