"""NVIDIA's driver, asked by NVML: which devices there are, and how much of one is used, by whom.

NVML makes no context: whatever only asks takes no memory of a device. A forked child must begin anew with it.
"""

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torpor_container.devices.device import DeviceMissing, DeviceUse
from torpor_container.how_to_install import how_to_install

T = TypeVar("T")
log = logging.getLogger(__name__)


class DriversDevice:
    """One device as the driver knows it. Where the driver does not answer, what it said before still counts."""

    def __init__(self, number: int, environment: Mapping[str, str] = os.environ) -> None:
        """Raises DeviceMissing."""
        self._number, self._environment = number, environment
        self._begin()
        self.model = _text(self._nvml.nvmlDeviceGetName(self._handle))
        self.total_bytes = int(self._nvml.nvmlDeviceGetMemoryInfo(self._handle).total)
        self._use, self._own_bytes = DeviceUse(0.0, 0), 0
        self._before_bytes = self.use().used_bytes  # what others hold, where the driver does not tell processes apart

    def use(self) -> DeviceUse:
        self._use = self._asked(self._use_now, self._use)
        return self._use

    def own_bytes(self) -> int:
        """In a container the driver may report other process numbers: then all that came since the start is ours."""
        self._own_bytes = self._asked(self._own_now, self._own_bytes)
        return self._own_bytes

    def _begin(self) -> None:
        self._nvml, self._handle = _handle(self._number, self._environment)
        self._process = os.getpid()

    def _asked(self, ask: Callable[[], T], before: T) -> T:
        """What the driver answers; `before` if it answers with an error, which must end no instance."""
        try:
            if self._process != os.getpid():
                self._begin()
            return ask()
        except (self._nvml.NVMLError, DeviceMissing) as error:
            log.warning("NVIDIA's driver does not answer, and what it said last counts: %s", error)
            return before

    def _use_now(self) -> DeviceUse:
        used_bytes = int(self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used)
        try:
            busy_percent = float(self._nvml.nvmlDeviceGetUtilizationRates(self._handle).gpu)
        except self._nvml.NVMLError:  # a part of a device has none
            busy_percent = 0.0
        return DeviceUse(busy_percent, used_bytes)

    def _own_now(self) -> int:
        processes = self._nvml.nvmlDeviceGetComputeRunningProcesses_v3(self._handle)
        own = [one.usedGpuMemory for one in processes if one.pid == os.getpid()]
        if own and own[0] is not None:
            return int(own[0])
        return max(0, self.use().used_bytes - self._before_bytes)


def _handle(number: int, environment: Mapping[str, str]) -> tuple[Any, Any]:
    """NVML, and its handle of a device. Raises DeviceMissing."""
    try:
        import pynvml  # type: ignore[import-not-found]  # of the extra gpu
    except ModuleNotFoundError:
        raise DeviceMissing(f"the package nvidia-ml-py is not installed: {how_to_install('gpu')}") from None
    try:
        pynvml.nvmlInit()
        count = int(pynvml.nvmlDeviceGetCount())
    except pynvml.NVMLError as error:
        raise DeviceMissing(f"NVIDIA's driver, libnvidia-ml.so.1, does not answer: {error}") from None
    named = environment.get("CUDA_VISIBLE_DEVICES")
    visible = [str(one) for one in range(count)] if named is None else [one.strip() for one in named.split(",") if one]
    if number >= len(visible):
        seen = f", and CUDA_VISIBLE_DEVICES={named}" if named is not None else ""
        raise DeviceMissing(f"the driver has {count} devices{seen}: there is no cuda:{number}")
    one = visible[number]
    try:
        if one.isdecimal():
            return pynvml, pynvml.nvmlDeviceGetHandleByIndex(int(one))
        return pynvml, pynvml.nvmlDeviceGetHandleByUUID(one.encode())
    except pynvml.NVMLError as error:
        raise DeviceMissing(f"CUDA_VISIBLE_DEVICES names {one}, which the driver does not have: {error}") from None


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
