"""Defines a model's form on a device, and what predicts where a model has such a form."""

from collections.abc import Callable
from typing import Any, Protocol


class DeviceForm(Protocol):
    """One model's form on a device. `enter` and `leave` run on one thread; `predict` on any, between them."""

    format: str
    note: str
    """What a person should know of what predicts where, for `torpor why`."""
    needs_folder: bool
    """Whether it reads the model's folder whenever it enters."""

    def wants(self, body: bytes) -> bool:
        """Whether a request with this body may be predicted on the device: it must be there then."""

    def enter(self, cap_bytes: int) -> None:
        """Make the form on the device, which may use `cap_bytes`. Raises DeviceFull, DeviceLost, and LoadFailed if the
        model would predict on the processor."""

    def leave(self) -> None:
        """Free what it holds there."""

    def over(self, predict: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """What predicts from now on. `predict` is the model's own prediction, on the processor."""
