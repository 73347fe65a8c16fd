"""A device that tests simulate: a budget of bytes, a clock for copies, and faults. Libraries predict on the processor.

Each model that is placed holds its bytes until it is closed. Nothing that the device reports was measured on one.
"""

from collections.abc import Callable
from typing import Any, Final

from torpor_container.devices.device import DeviceMissing, DeviceUse

GIB: Final = 1024**3
CONTEXT_BYTES: Final = 300 * 1024**2
"""What a process takes before its first model. Assumed: users report 256 to 320 MB (microsoft/onnxruntime#20548)."""


class SimulatedDevice:
    """A model takes `taken` bytes of its own bytes here. `copied` is called with the seconds of each copy onto it, for
    a clock of virtual time."""

    name = "cuda:0"
    model = "simulated device"

    def __init__(
        self,
        total_bytes: int = 16 * GIB,
        taken: Callable[[int], int] = lambda own_bytes: own_bytes,
        bytes_per_s: float = 10e9,
        context_bytes: int = CONTEXT_BYTES,
        copied: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self.total_bytes = total_bytes
        self.lost = ""
        self.others_bytes = 0  # held by other processes
        self.falls_back = False  # whether XGBoost finds no device
        self.full_at_runs = 0  # so many runs find no memory
        self.breaks_at_run = False  # whether the next run loses the device
        self.copies_s = 0.0
        self.shrunk = 0
        self._taken = taken
        self._bytes_per_s = bytes_per_s
        self._context_bytes = context_bytes
        self._copied = copied
        self._held: dict[int, int] = {}  # bytes by the id of a session or booster

    def use(self) -> DeviceUse:
        return DeviceUse(0.0, self.own_bytes() + self.others_bytes)

    def own_bytes(self) -> int:
        return self._context_bytes + sum(self._held.values()) if self._held or self.copies_s else 0

    def session(self, model: str | bytes, options: Any, cap_bytes: int) -> Any:
        import onnxruntime

        size_bytes = len(model) if isinstance(model, bytes) else _file_bytes(model)
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._hold(session, size_bytes, "Failed to allocate memory for requested buffer of size")
        return session

    def close_session(self, session: Any) -> None:
        self._held.pop(id(session), None)

    def run(self, session: Any, outputs: list[str], feed: dict[str, Any], shrink: bool) -> list[Any]:
        self._strike()
        self.shrunk += shrink
        values: list[Any] = session._sess.run(outputs, feed, None)
        return values

    def place(self, booster: Any) -> None:
        if self.falls_back:
            raise DeviceMissing(f"XGBoost found no {self.name}, and would predict on the processor")
        booster.set_param({"device": "cpu", "nthread": 1, "validate_parameters": False})
        self._hold(booster, len(booster.save_raw("ubj")), "cudaErrorMemoryAllocation: out of memory")

    def close_booster(self, booster: Any) -> None:
        self._held.pop(id(booster), None)

    def rows(self, rows: Any) -> Any:
        self._strike()
        return rows

    def _hold(self, holder: Any, own_bytes: int, words: str) -> None:
        size_bytes = self._taken(own_bytes)
        if max(self.own_bytes(), self._context_bytes) + self.others_bytes + size_bytes > self.total_bytes:
            raise RuntimeError(f"{words} {size_bytes}")
        self._held[id(holder)] = size_bytes
        self.copies_s += size_bytes / self._bytes_per_s
        self._copied(size_bytes / self._bytes_per_s)

    def _strike(self) -> None:
        if self.breaks_at_run:
            raise RuntimeError("CUDA failure 700: an illegal memory access was encountered ; GPU=0")
        if self.full_at_runs:
            self.full_at_runs -= 1
            raise RuntimeError("CUDA failure 2: out of memory ; GPU=0")


def _file_bytes(path: str) -> int:
    with open(path, "rb") as file:
        return file.seek(0, 2)
