"""The first model of each library on a device: a tiny one, so that what the library takes once is no served model's."""

from base64 import b64decode
from contextlib import ExitStack
from typing import Any

import numpy as np

from torpor_container.core.devices.process_memory import ProcessMemory
from torpor_container.devices.device import Device, DeviceFaults, DeviceMissing
from torpor_container.errors import LoadFailed
from torpor_container.formats.onnx import ONNX
from torpor_container.formats.xgboost.boosters import in_thread_of_boosters

NETWORK = b64decode(
    "CAgSADqpAQoSCgF4CgF3CgFiEgF5IgRHZW1tEgFnKksIBAgEEAFCAXdKQAAAgD8AAAAAAAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAAAAA"
    "AIA/AAAAAAAAAAAAAAAAAAAAAAAAgD8qGQgEEAFCAWJKEAAAAAAAAAAAAAAAAAAAAABaEwoBeBIOCgwIARIICgIIAQoCCARiEwoBeRIOCgwIARII"
    "CgIIAQoCCARCBAoAEBE="
)
"""An ONNX model with one Gemm: `y` is `x`, a row of four numbers."""
CAP_BYTES = 64 * 1024**2
"""For its arena."""
ROWS = 4096
"""So many rows has the batch that a booster predicts, as the largest of a probe."""


def first_use(library: str, device: Device, memory: ProcessMemory) -> int:
    """What each model of the library takes beside its own bytes. What the library keeps is in `memory` afterwards.

    Raises DeviceFull, DeviceLost, and LoadFailed if the library would predict on the processor.
    """
    before_bytes = device.own_bytes()
    with ExitStack() as in_vain:
        in_vain.callback(lambda: memory.stayed(before_bytes, device.own_bytes()))
        try:
            with DeviceFaults(device):
                with_one_bytes = _with_network(device) if library == ONNX else _with_booster(device)
        except DeviceMissing as missing:
            raise LoadFailed(str(missing)) from None
        in_vain.pop_all()
    return memory.library_began(before_bytes, with_one_bytes, device.own_bytes())


def _with_network(device: Device) -> int:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = device.session(NETWORK, options, CAP_BYTES)
    try:
        device.run(session, ["y"], {"x": np.zeros((1, 4), np.float32)}, shrink=False)
        return device.own_bytes()
    finally:
        device.close_session(session)


def _with_booster(device: Device) -> int:
    import xgboost

    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    held: list[Any] = [xgboost.train({"max_depth": 1, "nthread": 1}, xgboost.DMatrix(rows, rows[:, 0]), 1)]
    try:
        device.place(held[0])
        held[0].inplace_predict(device.rows(np.zeros((ROWS, 2), np.float32)))
        return device.own_bytes()
    finally:
        device.close_booster(held[0])
        in_thread_of_boosters(held.clear)
        device.trim()
