"""A tier of a simulated device with room for a few networks, and what it decides."""

import itertools
from pathlib import Path

import numpy as np

from torpor_container.core.eviction import Policy, policy
from torpor_container.core.residency import Decision, Residency
from torpor_container.devices.simulated_device import MIB, SimulatedDevice, TakenBytes
from torpor_container.formats.on_device.onnx_on_device import OnnxOnDevice
from torpor_container.formats.onnx import SessionCall
from torpor_container.models.on_device.device_tier import DeviceTier, Guest
from torpor_container.processes.threads import Threads

KEPT_BYTES = 628 * MIB
SIZE_BYTES = (16 + 2 * 66) * MIB + 64
"""Of each model: weights, the workspaces of its session and of the one thread, and its arena for one row."""


class StoryOnDevice:
    """A tier with room for so many models, and what it decided."""

    def __init__(self, file: Path, count: int, room_for: float, rule: Policy | None = None) -> None:
        self.device = SimulatedDevice(taken=TakenBytes(weights=lambda own_bytes: 16 * MIB if own_bytes > 200 else 0))
        self.decisions: list[Decision] = []
        budget_bytes = KEPT_BYTES + int(room_for * SIZE_BYTES)
        residency = Residency(budget_bytes, rule or policy("lru"), 1000, self.decisions.append)
        ticks = itertools.count()
        self.thread = Threads(1, "device")
        self.tier = DeviceTier(self.device, residency, self.thread, lambda: next(ticks), lambda: next(ticks))
        self.forms = [OnnxOnDevice(file, self.device) for _ in range(count)]
        for number, form in enumerate(self.forms):
            self.tier.joined(f"m{number}", Guest(form, f"m{number}", 16 * MIB))

    async def called(self, number: int, rows: int) -> None:
        form = self.forms[number]
        async with self.tier.lend(f"m{number}"):
            session = form.over(str)
            feed = {"X": np.zeros((rows, 4), np.float32)}
            await self.thread.run(session, SessionCall(feed, ["variable"]))

    def count(self, action: str) -> int:
        return sum(one.action == action for one in self.decisions)

    def sizes(self) -> set[int]:
        return {one.size_bytes for one in self.decisions if one.action == "loaded"}
