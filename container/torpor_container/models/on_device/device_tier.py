"""The tier above memory: which models are on the device, by the same plans as in memory, and how they come and go.

A model that leaves the device stays in memory. One on the device is in memory too, so it leaves the device before
it leaves memory (`gone`). One thread does all work on the device. A prediction waits while a model enters; in return
a library takes its workspace once for each model, and what the device reports tells one model from the others.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from torpor_container.core.devices.process_memory import ProcessMemory
from torpor_container.core.residency import Hit, Lead, Residency
from torpor_container.core.sizing import Prior, Sizing
from torpor_container.devices.device import Device, DeviceFull
from torpor_container.errors import LoadOutOfMemory, NoRoom
from torpor_container.formats.on_device.device_form import DeviceForm
from torpor_container.formats.on_device.first_use import first_use
from torpor_container.mapped.mapped_shares import is_hot
from torpor_container.models.tier import Tier
from torpor_container.processes.threads import Threads
from torpor_container.wire import DeviceStatus

T = TypeVar("T")

RATIO = 1.1
"""What is assumed of a model's bytes on a device for each byte of its files, before one is measured. An H200 took 1.0
for networks of 64 and 512 MiB, beside what each session takes."""
FLOOR_BYTES = 2 * 1024**2
"""CUDA's driver hands out memory in pieces of this size, so no model counts as less."""


@dataclass
class Guest:
    """A model in memory that may enter the device. `disk_bytes` are those of its files."""

    form: DeviceForm
    model_id: str
    disk_bytes: int
    calls_before: int = 0  # all calls of models on the device before it entered
    entering: "asyncio.Task[None] | None" = None


class DeviceTier:
    """The models on one device. `clock` measures durations."""

    def __init__(
        self,
        device: Device,
        residency: Residency,
        thread: Threads,
        clock: Callable[[], float],
        calendar: Callable[[], float],
    ) -> None:
        """`thread` is the only one that does anything on the device: so nothing else happens there while a model enters
        or leaves, and what the process holds then tells what the model takes."""
        self.device = device
        self._residency = residency
        self._memory = ProcessMemory(residency.budget_bytes)
        self._clock, self._calendar = clock, calendar
        self._thread = thread
        self._tier = Tier(residency, calendar, self._leave, self._measured)
        self._guests: dict[str, Guest] = {}
        self._rules: dict[str, Sizing] = {}  # by library, once it has had its first model

    async def close(self) -> None:
        for guest in self._guests.values():
            if guest.entering is not None:
                guest.entering.cancel()
        await self._tier.close()

    def status(self) -> DeviceStatus:
        use = self.device.use()
        return {
            "name": self.device.name,
            "model": self.device.model,
            "busy_percent": use.busy_percent,
            "used_bytes": use.used_bytes,
            "total_bytes": self.device.total_bytes,
            "own_bytes": self.device.own_bytes(),
            "kept_bytes": self._memory.kept_bytes,
            "budget_bytes": self._memory.budget_bytes,
            "models": sorted(name for name, _ in self._residency),
            "bound_models": sorted(name for name, guest in self._guests.items() if guest.form.bound),
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
        if isinstance(plan, Hit):
            self._heat(name)
        else:
            await self._entered(name, leads=isinstance(plan, Lead))
        try:
            yield
        finally:
            self._tier.released(name)

    def _heat(self, name: str) -> None:
        model, guest = self._residency.get(name), self._guests[name]
        if model is not None:
            guest.form.hot = is_hot(model.hits, self._residency.hits - guest.calls_before)

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
        sized_as = guest.model_id, guest.form.format, guest.disk_bytes
        try:
            with self._tier.loading(name):
                await self._begin(guest.form.format, name)
                sizing = self._rules[guest.form.format]
                predicted_bytes = max(FLOOR_BYTES, sizing.predict(*sized_as))
                if not residency.has_room(predicted_bytes):
                    await self._shrink()
                await self._tier.admitted(name, predicted_bytes)
                grown_bytes = await self._with_room(name, self._grown, name, guest.form)
                size_bytes = predicted_bytes if grown_bytes is None else max(FLOOR_BYTES, grown_bytes)
                if grown_bytes is not None:
                    sizing.measured(*sized_as, size_bytes)
                residency.loaded(name, size_bytes, self._clock() - began_s, self._calendar(), guest.form.note)
        except NoRoom as error:
            raise NoRoom(f"on {self.device.name}: {error}{self._told_kept()}") from None
        finally:
            guest.entering = None
            self._tier.changed()
        guest.calls_before, guest.form.hot = residency.hits, False
        self._measure()
        if not residency.has_room(0):
            await self._shrink()
        self._tier.dismiss(residency.evict_excess(name, self._calendar()))

    async def _begin(self, library: str, name: str) -> None:
        """Have the library's first model on the device, and off it again: what then stays is no model's."""
        if library not in self._rules:
            fixed_bytes = await self._with_room(name, first_use, library, self.device, self._memory)
            self._rules.setdefault(library, Sizing({library: Prior(fixed_bytes, RATIO)}))
            self._measure()

    async def _with_room(self, name: str, work: Callable[..., T], *arguments: object) -> T:
        """Do work on the device; while it is full, one idle model after the other leaves."""
        while True:
            try:
                return await self._thread.run(_without_frames, work, *arguments)
            except DeviceFull as full:
                said = str(full)
            if not await self.make_room(name):
                raise LoadOutOfMemory(f"{name}: {said}; no other model on it is idle")

    def _grown(self, name: str, form: DeviceForm) -> int | None:
        """The bytes by which the process has grown; None if a thread that was given up may still work there."""
        before_bytes = self.device.own_bytes()
        form.enter(max(FLOOR_BYTES, self._memory.for_models_bytes))
        grown_bytes = self._memory.entered(name, before_bytes, self.device.own_bytes())
        return None if self._thread.lost else grown_bytes

    async def _leave(self, name: str) -> None:
        guest = self._guests[name]
        size_bytes = await self._thread.run(self._given_back, name, guest.form)
        if size_bytes is not None:
            sized_as = guest.model_id, guest.form.format, guest.disk_bytes
            self._rules[guest.form.format].measured(*sized_as, max(FLOOR_BYTES, size_bytes))
        self._measure(gone=name)

    def _given_back(self, name: str, form: DeviceForm) -> int | None:
        before_bytes = self.device.own_bytes()
        form.leave()
        size_bytes = self._memory.left(name, before_bytes, self.device.own_bytes())
        return None if self._thread.lost else size_bytes

    # -- memory of the process -------------------------------------------------------------------------------------
    def _measure(self, gone: str | None = None) -> None:
        """What the libraries keep is not for models; what arenas keep takes room beside the models' sizes."""
        self._residency.budget_bytes = self._memory.for_models_bytes
        self._residency.measured(self._memory.used_by_models(self.device.own_bytes()), gone)

    async def _shrink(self) -> None:
        """Have all arenas give back what large requests made them take."""
        if self._residency.unaccounted_bytes:
            forms = [self._guests[name].form for name, _ in self._residency if name in self._guests]
            await self._thread.run(_shrink_all, forms)
            self._measure()

    async def _measured(self) -> int:
        await self._shrink()
        return self._memory.used_by_models(self.device.own_bytes())

    def _told_kept(self) -> str:
        memory = self._memory
        return (
            f"; CUDA and its libraries keep {memory.kept_bytes:,} bytes of the instance's {memory.budget_bytes:,} "
            "(TORPOR_DEVICE_MEMORY_MIB)"
        )


def _without_frames(work: Callable[..., T], *arguments: object) -> T:
    """The frames of an error would hold the session whose memory is to be given back."""
    try:
        return work(*arguments)
    except DeviceFull as full:
        said = str(full)
    raise DeviceFull(said)


def _shrink_all(forms: Sequence[DeviceForm]) -> None:
    for form in forms:
        form.shrink()
