"""Finds the device of an instance, and makes the tier of the models on it.

Only an instance that is asked to predict on a device imports this.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from torpor_container.core.devices.asked_device import DeviceKind
from torpor_container.core.eviction import Nobody, policy
from torpor_container.core.residency import Decision, Residency
from torpor_container.devices.device import Device, DeviceMissing
from torpor_container.devices.found_device import found_device
from torpor_container.formats import Conventions
from torpor_container.models.on_device.device_tier import DeviceTier
from torpor_container.models.on_device.placing import Placing
from torpor_container.processes.threads import Threads
from torpor_container.settings import BadSetting, Settings
from torpor_container.wire import DeviceStatus

SHARE_OF_FREE = 0.9
"""What an instance takes of the free memory: the rest is for what libraries take beside their arenas."""


class NoDevice:
    """TORPOR_DEVICE is auto, and there is no device: every model says why it predicts on the processor."""

    lost = ""

    def __init__(self, why: str) -> None:
        self._why = f"predicts on the processor: {why}"

    async def close(self) -> None: ...

    def status(self) -> DeviceStatus | None:
        return None

    def form_of(self, format_name: str, path: Path, conventions: Conventions) -> str:
        return self._why


def placing_of(
    settings: Settings,
    record: Callable[[Decision], None],
    clock: Callable[[], float],
    calendar: Callable[[], float],
    environment: Mapping[str, str],
    device: Device | None = None,
) -> Placing | NoDevice:
    """`device` is one that a test simulates. Raises BadSetting if a device is asked for and there is none."""
    try:
        found = device or found_device(settings.device, environment)
    except DeviceMissing as missing:
        if settings.device.kind is DeviceKind.AUTO:
            return NoDevice(str(missing))
        raise BadSetting(f"{missing}. TORPOR_DEVICE=cpu predicts on the processor.") from None
    assert found is not None, "only an instance that asks for a device comes here"
    keeps = settings.multi_model and settings.model_source
    rule = policy(settings.policy) if keeps else Nobody()
    residency = Residency(budget_bytes(settings, found), rule, settings.loads_max, record)
    thread = Threads(1, "device")
    return Placing(DeviceTier(found, residency, thread, clock, calendar), thread, clock, settings.vcpu)


def budget_bytes(settings: Settings, device: Device) -> int:
    """Raises BadSetting if the instance is to use more than the device has."""
    if settings.device_bytes is None:
        return int(SHARE_OF_FREE * (device.total_bytes - device.use().used_bytes))
    if settings.device_bytes > device.total_bytes:
        raise BadSetting(
            f"TORPOR_DEVICE_MEMORY_MIB is more than {device.name} has, {device.total_bytes // 1024**2:,} MiB"
        )
    return settings.device_bytes
