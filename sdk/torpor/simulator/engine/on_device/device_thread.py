"""The one thread that does all work on a simulated device, one task after the other."""

from collections.abc import Callable
from typing import TypeVar

from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.virtual_time import Kernel

T = TypeVar("T")


class DeviceThread(Processors):
    """Tasks wait for those that came before them. Nothing else slows them down: the device computes."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel, 1)
        self._free_s = 0.0

    def after(self, takes_s: float, action: Callable[[T], None], argument: T) -> None:
        self._free_s = max(self._free_s, self._kernel.now_s) + takes_s
        self._kernel.at(self._free_s, action, argument)
