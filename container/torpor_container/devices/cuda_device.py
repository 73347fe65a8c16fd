"""An NVIDIA GPU, and how ONNX Runtime and XGBoost are made to predict on it. The environment needs the extra `gpu`."""

import os
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from torpor_container.core.devices.asked_device import AskedDevice
from torpor_container.devices.bound_session import BoundSession, places_of_outputs
from torpor_container.devices.device import DeviceMissing, DeviceUse
from torpor_container.devices.nvml import DriversDevice
from torpor_container.how_to_install import how_to_install

PROVIDER = "CUDAExecutionProvider"
OVERLAPPING = (("onnxruntime", "onnxruntime-gpu"), ("xgboost-cpu", "xgboost"))
"""Packages that write the same files: of two that are installed, nobody knows which one is imported."""


class CudaDevice:
    """One GPU, by its number among those that CUDA_VISIBLE_DEVICES lets the process see."""

    def __init__(self, asked: AskedDevice, environment: Mapping[str, str] = os.environ) -> None:
        """Raises DeviceMissing."""
        self.name, self.lost = asked.cuda_name, ""
        self._number = asked.number
        check_packages()
        self._known = DriversDevice(asked.number, environment)
        self.model, self.total_bytes = self._known.model, self._known.total_bytes
        os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # as NVML counts them

    def use(self) -> DeviceUse:
        return self._known.use()

    def own_bytes(self) -> int:
        return self._known.own_bytes()

    def trim(self) -> None:
        cupy = _cupy()
        if cupy is not None:
            with cupy.cuda.Device(self._number):
                cupy.get_default_memory_pool().free_all_blocks()

    # -- ONNX Runtime ----------------------------------------------------------------------------------------------
    def session(self, model: str | bytes, options: Any, cap_bytes: int) -> Any:
        import onnxruntime

        if PROVIDER not in onnxruntime.get_available_providers():
            raise DeviceMissing(
                f"ONNX Runtime {onnxruntime.__version__} of this environment has no {PROVIDER}: "
                f"{how_to_install('gpu')}, in an environment without onnxruntime"
            )
        _preload()
        provider = {
            "device_id": str(self._number),
            "gpu_mem_limit": str(cap_bytes),
            "arena_extend_strategy": "kSameAsRequested",
            "cudnn_conv_use_max_workspace": "0",
            "use_tf32": "0",  # answers as on the processor: TF32 rounds factors to 10 bits
        }
        # weights outside the arena go back to the device when the session is freed
        options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        session = onnxruntime.InferenceSession(model, options, providers=[(PROVIDER, provider), "CPUExecutionProvider"])
        if session.get_providers()[0] != PROVIDER:
            raise DeviceMissing(
                f"ONNX Runtime could not use {self.name}, and would predict on the processor: its libraries of CUDA "
                "or cuDNN are missing or do not fit the driver"
            )
        session.disable_fallback()  # a failed run would make a session on the processor
        return session

    def close_session(self, session: Any) -> None:
        """Nothing more: a session gives back its memory when it is freed."""

    def run(self, session: Any, outputs: list[str], feed: dict[str, Any], shrink: bool) -> list[Any]:
        options = None
        if shrink:
            import onnxruntime

            options = onnxruntime.RunOptions()
            options.add_run_config_entry("memory.enable_memory_arena_shrinkage", f"gpu:{self._number}")
        values: list[Any] = session._sess.run(outputs, feed, options)
        return values

    def bound(self, session: Any) -> BoundSession:
        return BoundSession(session, places_of_outputs(session, self._number))

    # -- XGBoost ---------------------------------------------------------------------------------------------------
    def place(self, booster: Any) -> None:
        """XGBoost changes the device by itself where it finds none, with a warning at most: its configuration tells."""
        import json

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            booster.set_param({"device": self.name, "nthread": 1, "validate_parameters": False})
            configuration = json.loads(booster.save_config())["learner"]["generic_param"]
        if configuration.get("device") != self.name:
            raise DeviceMissing(
                f"XGBoost found no {self.name}, and would predict on the processor. "
                f"It may be built without CUDA: {how_to_install('gpu')}, in an environment without xgboost-cpu"
            )

    def close_booster(self, booster: Any) -> None:
        """Nothing more: a booster gives back its memory when it is freed."""

    def rows(self, rows: Any) -> Any:
        """By CuPy where it is installed. Without it, XGBoost copies the rows by a matrix of its own."""
        cupy = _cupy()
        if cupy is None:
            return rows
        with cupy.cuda.Device(self._number):
            return cupy.asarray(rows)


def check_packages() -> None:
    """Raises DeviceMissing if packages for the processor and for a device are installed beside each other."""
    for one, other in OVERLAPPING:
        if _installed(one) and _installed(other):
            raise DeviceMissing(
                f"{one} and {other} are both installed, and overwrite each other's files: install the extra gpu in an "
                "environment of its own"
            )


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


@cache
def _preload() -> None:
    """Load CUDA's libraries from the packages that pip installed beside ONNX Runtime."""
    import onnxruntime

    onnxruntime.preload_dlls()


@cache
def _cupy() -> Any:
    try:
        import cupy  # type: ignore[import-not-found]  # taken where it is installed
    except ImportError:
        return None
    return cupy
