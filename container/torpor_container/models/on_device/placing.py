"""Gives the models that an instance loads their forms on its device, where their formats have one."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from torpor_container.core.turns import Sharing, Turns
from torpor_container.devices.device import Device
from torpor_container.formats import Conventions
from torpor_container.formats.on_device.device_form import DeviceForm
from torpor_container.formats.on_device.onnx_on_device import OnnxOnDevice
from torpor_container.formats.on_device.xgboost_on_device import booster_on_device
from torpor_container.formats.onnx import ONNX
from torpor_container.formats.xgboost.boosters import XGBOOST
from torpor_container.measuring.effort import EffortClocks
from torpor_container.models.on_device.device_runner import DevicePlacement, DeviceRunner
from torpor_container.models.on_device.device_tier import DeviceTier, Guest
from torpor_container.processes.threads import Threads
from torpor_container.running.predicting import Predictors
from torpor_container.running.runners import InProcess
from torpor_container.wire import DeviceStatus

FORMS: Final[Mapping[str, Callable[[Path, Conventions, Device, int], DeviceForm | str]]] = {
    ONNX: lambda path, conventions, device, side_by_side: OnnxOnDevice(path, device),
    XGBOOST: booster_on_device,
}
"""By format: the form of the model in a file, or why it has none. The number is how many predictions the processor
makes side by side."""


class Placing:
    """The forms of one instance's models on its device."""

    def __init__(self, tier: DeviceTier, thread: Threads, clock: Callable[[], float], side_by_side: int) -> None:
        """`thread` is the tier's: one thread does all work on the device, which a prediction shares with entries."""
        self._tier = tier
        self._side_by_side = side_by_side
        self._predictors = Predictors(thread, Turns[Any](Sharing()), clock)

    async def close(self) -> None:
        await self._tier.close()
        self._predictors.close()

    @property
    def lost(self) -> str:
        """Why no model can be predicted on the device any more; empty as long as models can."""
        device = self._tier.device
        return f"the device {device.name} is lost: {device.lost}" if device.lost else ""

    def status(self) -> DeviceStatus | None:
        return self._tier.status()

    def form_of(self, format_name: str, path: Path, conventions: Conventions) -> DeviceForm | str:
        """The form, or why the model predicts on the processor. Raises LoadFailed, OSError."""
        made = FORMS.get(format_name)
        if made is None:
            return f"models of the format {format_name} predict on the processor alone"
        return made(path, conventions, self._tier.device, self._side_by_side)

    def put_on(self, model: Any, form: DeviceForm) -> None:
        """Have a served model predict by its form. What it holds for predictions on the processor goes with its last
        use.

        An answer may differ by its last digits between processor and device, and so between batches: rows of several
        requests share no prediction.
        """
        model.predict = form.over(model.predict)
        model.rowwise = False
        if form.format == ONNX:
            model.native = None

    async def runner(
        self,
        name: str,
        guest: Guest,
        model: Any,
        predictors: Predictors,
        clocks: EffortClocks,
        batch_size: int | None,
        released: Callable[[], None],
    ) -> InProcess:
        """The runner of a model that has entered the device. Raises LoadFault with 507 if it finds no room there."""
        self._tier.joined(name, guest)
        placement = DevicePlacement(name, guest.form, self._tier, self._predictors)
        runner = DeviceRunner(model, predictors, placement, clocks, batch_size, released)
        async with AsyncExitStack() as unless_entered:
            unless_entered.push_async_callback(runner.close)
            async with self._tier.lend(name):
                unless_entered.pop_all()
        return runner
