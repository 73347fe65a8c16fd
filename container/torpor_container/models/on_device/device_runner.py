"""Runs a model that has a form on the device: a request that may need the device waits until the model is on it."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from torpor_container.core.turns import ModelQueue
from torpor_container.errors import OutOfMemory, TimedOut
from torpor_container.formats import ServableModel
from torpor_container.formats.on_device.device_form import DeviceForm
from torpor_container.invocation import Invocation, Reply
from torpor_container.measuring.effort import CLOCKS, Effort, EffortClocks
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.on_device.device_tier import DeviceTier
from torpor_container.running.predicting import Predictors
from torpor_container.running.runners import InProcess
from torpor_container.wire import WaitStep


@dataclass(frozen=True)
class DevicePlacement:
    """A model's form, its name on the device, and the thread that predicts there in fair turns."""

    name: str
    form: DeviceForm
    tier: DeviceTier
    predictors: Predictors


class DeviceRunner(InProcess):
    """A model in this process, and its form on the device."""

    def __init__(
        self,
        model: ServableModel,
        predictors: Predictors,
        placement: DevicePlacement,
        clocks: EffortClocks = CLOCKS,
        batch_size: int | None = None,
        released: Callable[[], None] = lambda: None,
    ) -> None:
        """`predictors` are the threads of what stays on the processor."""
        super().__init__(model, predictors, clocks, batch_size, released)
        self.needs_folder = placement.form.needs_folder
        self._placement = placement
        self._device_queue = ModelQueue()

    def cheap(self, body: bytes) -> bool:
        return not self._placement.form.wants(body) and super().cheap(body)

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        """Raises also LoadFault with 507 if the model finds no room on the device."""
        if not self._placement.form.wants(invocation.body):
            return await super().invoke(invocation, timeout_s, timing)
        try:
            async with asyncio.timeout(timeout_s), AsyncExitStack() as use:
                lent = self._placement.tier.lend(self._placement.name)
                if self._placement.name in self._placement.tier:
                    await use.enter_async_context(lent)
                else:
                    with timing.step(WaitStep.LOAD):
                        await use.enter_async_context(lent)
                with timing.step(WaitStep.PREDICT):
                    reply = await self._predicted(invocation)
        except TimeoutError:
            raise TimedOut(timeout_s) from None
        timing.effort = reply.effort
        return reply

    async def close(self) -> Effort:
        await self._placement.tier.gone(self._placement.name)
        return await super().close()

    async def _predicted(self, invocation: Invocation) -> Reply:
        """AWS: on 507, other models are unloaded and the call is tried again, until no idle model is left."""
        placement, body = self._placement, invocation.body
        while True:
            try:
                return await placement.predictors.predict(self._device_queue, self._predict, invocation)
            except OutOfMemory as error:
                if not await placement.tier.make_room(placement.name):
                    raise OutOfMemory(f"{error}; no other model on {placement.tier.device.name} is idle") from None
                invocation.body = body
