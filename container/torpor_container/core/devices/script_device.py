"""What a user's script learns of its instance's device: which one it is, and how much of it the instance may take."""

from collections.abc import Mapping
from typing import Final

from torpor_container.core.devices.asked_device import AskedDevice, DeviceKind

VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
SHARE: Final = "TORPOR_DEVICE_MEMORY_MIB"
MIB: Final = 1024**2


def device_variables(asked: AskedDevice, share_bytes: int | None, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a script's process gets beside its `environment`. The one device that it then sees is its
    `cuda:0`. `share_bytes`: None if the instance has no share that was set."""
    if asked.kind is DeviceKind.CPU:
        return {}
    named = environment.get(VISIBLE)
    visible = None if named is None else [one.strip() for one in named.split(",") if one.strip()]
    if visible is None:
        own = {VISIBLE: str(asked.number)}
    elif asked.number < len(visible):
        own = {VISIBLE: visible[asked.number]}
    else:
        own = {}
    return own if share_bytes is None else {**own, SHARE: str(share_bytes // MIB)}
