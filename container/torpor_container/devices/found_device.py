"""Looks for the device that a setting asks for, and says what was looked for where there is none."""

import os
from collections.abc import Mapping

from torpor_container.core.devices.asked_device import AskedDevice, DeviceKind
from torpor_container.devices.cuda_device import CudaDevice
from torpor_container.devices.device import Device, DeviceMissing


def found_device(asked: AskedDevice, environment: Mapping[str, str] = os.environ) -> Device | None:
    """The device; None for `cpu`. Raises DeviceMissing, for `auto` too: the caller says that it goes without."""
    if asked.kind is DeviceKind.CPU:
        return None
    try:
        return CudaDevice(asked, environment)
    except DeviceMissing as missing:
        raise DeviceMissing(f"no device for TORPOR_DEVICE={asked}: {missing}") from None
