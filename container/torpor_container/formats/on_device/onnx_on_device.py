"""ONNX models on a device: their bytes stay in memory, and a session is built from them each time they enter.

ONNX Runtime moves no session between devices, so leaving is the end of a session. Operators without a kernel of CUDA
run on the processor inside a session; `note` names them. A model of which no operator runs on the device is refused.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torpor_container.content.plain import Outputs
from torpor_container.core.devices.arena_peaks import ArenaPeaks
from torpor_container.devices.device import Device, DeviceFaults, DeviceMissing
from torpor_container.errors import LoadFailed
from torpor_container.formats.onnx import ONNX, SessionCall

NAMED_MAX = 5
"""A note names so many kinds of operators that run on the processor."""


class OnnxOnDevice:
    """One ONNX model."""

    format = ONNX

    def __init__(self, path: Path, device: Device) -> None:
        """Raises OSError."""
        self._name = path.name
        self._device = device
        alone = [one.name for one in path.parent.iterdir() if one.is_file()] == [path.name]
        self.needs_folder = not alone  # other files may be its weights, which a session reads from their place
        self._model: str | bytes = path.read_bytes() if alone else str(path)
        self._session: Any = None
        self._peaks = ArenaPeaks()
        self.note = f"predicts on {device.name}"

    def wants(self, body: bytes) -> bool:
        return True

    def enter(self, cap_bytes: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            with DeviceFaults(self._device):
                session = self._device.session(self._model, options, cap_bytes)
        except DeviceMissing as missing:
            raise LoadFailed(f"{self._name}: {missing}") from None
        try:
            self.note = _told(session, self._name, self._device.name)
        except LoadFailed:
            self._device.close_session(session)
            raise
        self._session = session

    def leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._device.close_session(session)

    def over(self, predict: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return self._predict

    def _predict(self, asked: SessionCall) -> Any:
        feed, outputs = asked
        shrink = self._peaks.is_peak(sum(rows.nbytes for rows in feed.values()))
        with DeviceFaults(self._device):
            values = self._device.run(self._session, outputs, feed, shrink)
        return values[0] if len(values) == 1 else Outputs(zip(outputs, values, strict=True))


def _told(session: Any, name: str, device: str) -> str:
    """Which operators run where. Raises LoadFailed if none runs on the device."""
    assigned = _assigned(session)
    here, elsewhere = (assigned.get(one, Counter[str]()) for one in ("CUDAExecutionProvider", "CPUExecutionProvider"))
    count, all_of_them = elsewhere.total(), elsewhere.total() + here.total()
    if not count or not assigned:
        return f"predicts on {device}"
    kinds = ", ".join(kind for kind, _ in elsewhere.most_common(NAMED_MAX))
    if not here and "CUDAExecutionProvider" in session.get_providers():
        raise LoadFailed(
            f"{name} has no operator that runs on {device} ({kinds} run on the processor alone): serve it by a variant "
            "with TORPOR_DEVICE=cpu"
        )
    if not here:
        return f"predicts on {device}"
    return f"predicts on {device}, but for {count} of its {all_of_them} operators: {kinds}"


def _assigned(session: Any) -> dict[str, Counter[str]]:
    """How many operators of each kind run by each provider; empty where ONNX Runtime is too old to tell."""
    if not hasattr(session, "get_provider_graph_assignment_info"):
        return {}
    assigned: dict[str, Counter[str]] = {}
    for group in session.get_provider_graph_assignment_info():
        counted = assigned.setdefault(group.ep_name, Counter())
        counted.update(node.op_type for node in group.get_nodes())
    return assigned
