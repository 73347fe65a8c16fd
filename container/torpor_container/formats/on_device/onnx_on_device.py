"""ONNX models on a device: their bytes stay in memory, and a session is built from them each time they enter.

ONNX Runtime moves no session between devices, so leaving is the end of a session. Operators without a kernel of CUDA
run on the processor inside a session; `note` names them. A model of which no operator runs on the device is refused.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np

from torpor_container.content.plain import Outputs
from torpor_container.core.devices.arena_peaks import ArenaPeaks
from torpor_container.devices.device import Device, DeviceFaults, DeviceMissing
from torpor_container.errors import LoadFailed
from torpor_container.formats.on_device.bound_calls import BoundCalls
from torpor_container.formats.onnx import ONNX, SessionCall

NUMBERS: Final[Mapping[str, type]] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}
NAMED_MAX = 5
"""A note names so many kinds of operators that run on the processor."""


class OnnxOnDevice:
    """One ONNX model."""

    format = ONNX
    hot = False

    def __init__(self, path: Path, device: Device) -> None:
        """Raises OSError."""
        self._name = path.name
        self._device = device
        alone = [one.name for one in path.parent.iterdir() if one.is_file()] == [path.name]
        self.needs_folder = not alone  # other files may be its weights, which a session reads from their place
        self._model: str | bytes = path.read_bytes() if alone else str(path)
        self._session: Any = None
        self._peaks = ArenaPeaks()
        self._bound_calls = BoundCalls(path.name, device)
        self._least: SessionCall | None = None  # the least request that it predicts, if that is known
        self.note = f"predicts on {device.name}"

    @property
    def bound(self) -> bool:
        return bool(self._bound_calls)

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
        with ExitStack() as unless_entered:
            unless_entered.callback(self.leave)
            self._predict_once(session)
            unless_entered.pop_all()

    def shrink(self) -> None:
        self._bound_calls.release()
        if self._session is not None and self._least is not None:
            with DeviceFaults(self._device):
                self._device.run(self._session, self._least.outputs, self._least.feed, shrink=True)

    def leave(self) -> None:
        self._bound_calls.release()
        session, self._session = self._session, None
        if session is not None:
            self._device.close_session(session)

    def over(self, predict: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return self._predict

    def _predict(self, asked: SessionCall) -> Any:
        feed, outputs = asked
        shrink = self._peaks.is_peak(sum(rows.nbytes for rows in feed.values()))
        with DeviceFaults(self._device):
            values = None
            if self.hot and not shrink:
                values = self._bound_calls.run(self._session, asked)
            else:
                self._bound_calls.release()  # a peak is to leave nothing behind
            if values is None:
                values = self._device.run(self._session, outputs, feed, shrink)
        return values[0] if len(values) == 1 else Outputs(zip(outputs, values, strict=True))

    def _predict_once(self, session: Any) -> None:
        """A model that refuses rows of zeros takes its workspace at its first request."""
        from onnxruntime.capi import onnxruntime_pybind11_state as errors

        self._least = least = _least_call(session)
        if least is None:
            return
        try:
            with DeviceFaults(self._device):
                self._device.run(session, least.outputs, least.feed, shrink=False)
        except (errors.Fail, errors.InvalidArgument, errors.NotImplemented, errors.RuntimeException):
            self._least = None


def _least_call(session: Any) -> SessionCall | None:
    """One row of zeros for each input, its open dimensions 1; None if an input is no tensor of numbers."""
    feed: dict[str, Any] = {}
    for one in session.get_inputs():
        kind = NUMBERS.get(one.type)
        if kind is None:
            return None
        feed[one.name] = np.zeros([size if isinstance(size, int) and size > 0 else 1 for size in one.shape], kind)
    return SessionCall(feed, [one.name for one in session.get_outputs()])


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
