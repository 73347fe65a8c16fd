"""What TORPOR_DEVICE asks for: the processor, one device, or whichever is there."""

import re
from enum import StrEnum

from torpor_container.frozen_class import frozen


class DeviceKind(StrEnum):
    """`auto` takes a device where one is found, and says so where none is."""

    CPU = "cpu"
    CUDA = "cuda"
    AUTO = "auto"


@frozen
class AskedDevice:
    """`number` counts the devices that the process may see, from 0."""

    kind: DeviceKind = DeviceKind.CPU
    number: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}" if self.kind is DeviceKind.CUDA else self.kind.value

    @property
    def cuda_name(self) -> str:
        """The name of the device in ONNX Runtime and XGBoost."""
        return f"cuda:{self.number}"


def asked_device(text: str) -> AskedDevice:
    """Raises ValueError."""
    match = re.fullmatch(r"(cpu|auto|cuda)(?::([0-9]{1,2}))?", text)
    if match is None or (match[2] is not None and match[1] != "cuda"):
        raise ValueError("must be cpu, cuda, cuda:N with the number of a device from 0, or auto")
    return AskedDevice(DeviceKind(match[1]), int(match[2] or 0))
