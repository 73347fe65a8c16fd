"""The models on one simulated instance's device: how they enter and leave it, and which of them predicts.

This module decides nothing. `torpor_container.core.residency` decides which model enters and which one leaves, as it
does for the device of a live instance; `torpor_container.core.turns` decides which request predicts next.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from torpor.simulator.engine.call_records import FAILED, InstanceModel, Predictor, SimulatedCall, VariantCounts
from torpor.simulator.engine.on_device.device_thread import DeviceThread
from torpor.simulator.engine.simulated_predictions import SimulatedPredictions
from torpor.simulator.engine.waiting_room import WaitingRoom
from torpor.workloads.profile import ModelProfile
from torpor_container.core.residency import HIT, LEAD, WAIT, Admit, Refuse, Residency
from torpor_container.core.turns import Sharing, Turns

OfModel = Callable[[InstanceModel], None]
Ends = tuple[OfModel, Callable[[InstanceModel, str], None], OfModel]
"""What goes on once a model is loaded; once it found no room as it was loaded, and why; and once it has been unloaded.
"""


class DeviceGuest(Predictor):
    """A model in memory that may enter the device, as it predicts there."""

    __slots__ = ("loaded_as", "name", "profile", "since_s", "waiting")

    since_s: float  # when its entry began

    def __init__(self, name: str, profile: ModelProfile) -> None:
        super().__init__(profile.device_predict_s, 0.0)
        self.name = name
        self.profile = profile
        self.waiting: list[SimulatedCall] = []
        self.loaded_as: InstanceModel | None = None  # as long as its load has not ended: it ends on the device


@dataclass(slots=True, eq=False)
class DevicePredictions(SimulatedPredictions):
    """The predictions of an instance with a device: there, of the models that take room on it, and on the processors,
    of all others. A model stays in memory as it leaves the device, and enters again with the next request for it.
    `residency` is that of the device's memory."""

    residency: Residency = field(kw_only=True)
    counts: VariantCounts = field(kw_only=True)
    ends: Ends = field(kw_only=True)
    _guests: dict[str, DeviceGuest] = field(default_factory=dict)  # by name, those in memory
    _waiters: WaitingRoom = field(init=False)
    _device_thread: DeviceThread = field(init=False)
    _there: SimulatedPredictions = field(init=False)

    def __post_init__(self) -> None:
        SimulatedPredictions.__post_init__(self)
        self._waiters = WaitingRoom(self.kernel, self.residency)
        self._device_thread = DeviceThread(self.kernel)
        turns = Turns[SimulatedCall](Sharing())
        self._there = SimulatedPredictions(self.kernel, turns, self._device_thread, self.spread, self._predicted_there)

    def ask(self, call: SimulatedCall, predictor: Predictor) -> None:
        guest = self._guests.get(call.model)
        if guest is None:
            SimulatedPredictions.ask(self, call, predictor)
        else:
            self._lend(call)

    def enter(self, model: InstanceModel) -> None:
        """Have a model enter that has been read into memory, if it predicts on the device."""
        if not model.profile.device_bytes:
            self.ends[0](model)
            return
        guest = self._guests[model.name] = DeviceGuest(model.name, model.profile)
        guest.loaded_as = model
        self._lead(guest)

    def gone(self, model: InstanceModel) -> None:
        """The model leaves memory, and no request uses it: it leaves the device too."""
        name, there = model.name, self._guests.pop(model.name, None)
        if there is not None and self.residency.drop(name, "it leaves memory", self.kernel.now_s):
            self._leave((name,))
        self.ends[2](model)

    # -- entering --------------------------------------------------------------------------------------------------
    def _lend(self, call: SimulatedCall) -> None:
        guest = self._guests[call.model]
        plan = self.residency.request(call.model, self.kernel.now_s)
        if plan is HIT:
            self._there.ask(call, guest)
        elif plan is WAIT:
            guest.waiting.append(call)
        elif plan is LEAD:
            guest.waiting.append(call)
            self._admit(guest)
        else:
            self._waiters.wait(self._lend, call)

    def _lead(self, guest: DeviceGuest) -> None:
        """The first entry of a model. An earlier copy of it may be on its way out."""
        if self.residency.request(guest.name, self.kernel.now_s) is LEAD:
            self._admit(guest)
        else:
            self._waiters.wait(self._lead, guest)

    def _admit(self, guest: DeviceGuest) -> None:
        size_bytes = guest.profile.device_bytes
        plan = self.residency.admit(guest.name, size_bytes, self.kernel.now_s)
        if isinstance(plan, Admit):
            self._leave(plan.victims)
            self.counts.entries += 1
            guest.since_s = self.kernel.now_s
            self._device_thread.after(guest.profile.enter_s, self._entered, guest)
        elif isinstance(plan, Refuse):
            self._refused(guest, plan.reason)
        else:
            self._leave(plan.victims)
            self._waiters.wait_for_admission(self._admit, guest, size_bytes)

    def _entered(self, guest: DeviceGuest) -> None:
        now_s = self.kernel.now_s
        self.residency.loaded(guest.name, guest.profile.device_bytes, now_s - guest.since_s, now_s)
        waiting, guest.waiting = guest.waiting, []
        for call in waiting:
            call.ready_s = now_s
            self._there.ask(call, guest)
        if (model := guest.loaded_as) is not None:
            guest.loaded_as = None
            self.residency.released(guest.name)
            self.ends[0](model)
        self._waiters.notify()

    def _refused(self, guest: DeviceGuest, reason: str) -> None:
        self.residency.failed(guest.name, reason, self.kernel.now_s)
        waiting, guest.waiting = guest.waiting, []
        for call in waiting:
            call.outcome = FAILED
            call.ready_s = call.done_s = self.kernel.now_s
            self.predicted(call)
        if (model := guest.loaded_as) is not None:
            del self._guests[guest.name]
            self.ends[1](model, reason)
        self._waiters.notify()

    def _leave(self, names: tuple[str, ...]) -> None:
        """What leaves the device stays in memory: nothing is copied back."""
        for name in names:
            self.kernel.soon(self._left, name)

    def _left(self, name: str) -> None:
        self.residency.unloaded(name, 0.0, self.kernel.now_s)
        self._waiters.notify()

    def _predicted_there(self, call: SimulatedCall) -> None:
        if self.residency.released(call.model):
            self._waiters.notify()
        self.predicted(call)
