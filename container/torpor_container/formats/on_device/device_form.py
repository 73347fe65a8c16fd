"""Defines a model's form on a device, and what predicts where a model has such a form."""

from collections.abc import Callable
from typing import Any, Protocol


class DeviceForm(Protocol):
    """One model's form on a device. One thread does all that it does there."""

    format: str
    note: str
    """What a person should know of what predicts where, for `torpor why`."""
    needs_folder: bool
    """Whether it reads the model's folder whenever it enters."""
    hot: bool
    """Whether it answers so many of the calls that it may keep something between them. The tier says so."""

    @property
    def bound(self) -> bool:
        """Whether its inputs and outputs stay bound between calls."""

    def wants(self, body: bytes) -> bool:
        """Whether a request with this body may be predicted on the device: it must be there then."""

    def enter(self, cap_bytes: int) -> None:
        """Make the form on the device, whose arena may take `cap_bytes`, and predict once, which takes its workspace.
        Raises DeviceFull, DeviceLost, and LoadFailed if the model would predict on the processor."""

    def shrink(self) -> None:
        """Give back what large requests made it take, and what is bound. Raises DeviceLost."""

    def leave(self) -> None:
        """Free what it holds there."""

    def over(self, predict: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """What predicts from now on. `predict` is the model's own prediction, on the processor."""
