"""Defines what an instance needs of a device, and what can go wrong with one."""

from types import TracebackType
from typing import Any, NamedTuple, Protocol

from torpor_container.core.devices.device_faults import DeviceFault, fault_in
from torpor_container.devices.bound_session import BoundSession
from torpor_container.errors import ContainerError, DeviceLost


class DeviceMissing(Exception):
    """There is no such device, or a library cannot use it. The message says what was looked for."""


class DeviceFull(MemoryError):
    """The device has no memory for what is asked now; it may have once another model has left it."""


class DeviceUse(NamedTuple):
    """What the driver reports: `busy_percent` of the last moments, and bytes that all processes use together."""

    busy_percent: float
    used_bytes: int


class Device(Protocol):
    """One device, as one process sees it. The first call of `session` or `place` makes the process's context on it,
    which takes memory and a second, and which no forked child can use.

    One thread should do all that a session or a booster does: ONNX Runtime takes a workspace for each thread that uses
    a session, 66 MiB on an H200."""

    name: str
    """`cuda:0`"""
    model: str
    """What its maker calls it."""
    total_bytes: int
    lost: str
    """Why no more work can be done on it; empty as long as work can."""

    def use(self) -> DeviceUse: ...

    def own_bytes(self) -> int:
        """The bytes that this process holds, its context included. No driver tells which model holds them."""

    def trim(self) -> None:
        """Give back what was kept for rows, and holds none."""

    def session(self, model: str | bytes, options: Any, cap_bytes: int) -> Any:
        """A session of ONNX Runtime whose arena takes `cap_bytes` at most. Raises what ONNX Runtime raises, and
        DeviceMissing if the session would predict on the processor."""

    def close_session(self, session: Any) -> None:
        """The session is freed once its last call has ended: its last reference must be the caller's."""

    def run(self, session: Any, outputs: list[str], feed: dict[str, Any], shrink: bool) -> list[Any]:
        """`shrink`: give the arena's free memory back afterwards."""

    def bound(self, session: Any) -> BoundSession:
        """What keeps the session's inputs and outputs bound. Release it before the session is closed, and drop it."""

    def place(self, booster: Any) -> None:
        """Have a booster of XGBoost predict here. Raises DeviceMissing if it would predict on the processor."""

    def close_booster(self, booster: Any) -> None: ...

    def rows(self, rows: Any) -> Any:
        """Dense rows where a booster takes them without a detour."""


class DeviceFaults:
    """Raises a library's errors that are the device's as DeviceFull or DeviceLost. Use it with `with`."""

    __slots__ = ("_device",)

    def __init__(self, device: Device) -> None:
        self._device = device

    def __enter__(self) -> None:
        """Raises DeviceLost if nothing can be done on the device any more."""
        if self._device.lost:
            raise DeviceLost.because(self._device.name, self._device.lost)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, Exception) or isinstance(error, (ContainerError, DeviceFull)):
            return
        said = str(error).strip().partition("\n")[0]
        match fault_in(str(error)):
            case DeviceFault.LOST:
                self._device.lost = said
                raise DeviceLost.because(self._device.name, said) from error
            case DeviceFault.FULL:
                raise DeviceFull(f"the device {self._device.name} has no memory for it: {said}") from error
