"""CUDA's devices where there are none: what is looked for is said, and nothing falls back unseen."""

import subprocess
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest
import xgboost

from torpor_container.core.devices.asked_device import asked_device
from torpor_container.devices import cuda_device
from torpor_container.devices.cuda_device import CudaDevice
from torpor_container.devices.device import DeviceFaults, DeviceFull, DeviceMissing
from torpor_container.devices.found_device import found_device
from torpor_container.devices.simulated_device import SimulatedDevice
from torpor_container.errors import DeviceLost, LoadFailed

CUDA = asked_device("cuda")


class Driver(ModuleType):
    """NVML's answers for two devices."""

    class NVMLError(Exception):
        pass

    used_bytes = 1000

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.answers: dict[str, Callable[..., Any]] = {
            "nvmlInit": lambda: None,
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda number: f"handle {number}",
            "nvmlDeviceGetHandleByUUID": lambda uuid: f"handle {uuid.decode()}",
            "nvmlDeviceGetName": lambda handle: f"card of {handle}",
            "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(total=10_000, used=self.used_bytes),
            "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=40, memory=7),
            "nvmlDeviceGetComputeRunningProcesses_v3": lambda handle: [],
        }

    def __getattr__(self, name: str) -> Any:
        return self.__dict__["answers"][name]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    """The module that nvidia-ml-py installs."""
    answers = Driver()
    monkeypatch.setitem(sys.modules, "pynvml", answers)
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    return answers


def test_a_machine_without_the_package_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(DeviceMissing, match="no device for TORPOR_DEVICE=cuda:0: the package nvidia-ml-py"):
        found_device(CUDA)


def test_the_processor_is_no_device_and_asks_no_driver() -> None:
    assert found_device(asked_device("cpu")) is None


def test_a_number_beyond_the_devices_is_refused_with_how_many_there_are(driver: Driver) -> None:
    with pytest.raises(DeviceMissing, match="the driver has 2 devices: there is no cuda:2"):
        CudaDevice(asked_device("cuda:2"), {})


def test_the_devices_that_a_process_may_see_are_counted_anew(driver: Driver) -> None:
    assert CudaDevice(CUDA, {"CUDA_VISIBLE_DEVICES": "1"}).model == "card of handle 1"
    assert CudaDevice(CUDA, {"CUDA_VISIBLE_DEVICES": "GPU-ab,0"}).model == "card of handle GPU-ab"
    with pytest.raises(DeviceMissing, match="CUDA_VISIBLE_DEVICES=: there is no cuda:0"):
        CudaDevice(CUDA, {"CUDA_VISIBLE_DEVICES": ""})


def test_memory_that_came_since_the_start_is_the_processs_where_the_driver_tells_none_apart(driver: Driver) -> None:
    device = CudaDevice(CUDA, {})
    driver.used_bytes = 4000
    assert (device.own_bytes(), device.use()) == (3000, (40.0, 4000))


def test_a_forked_child_begins_anew_with_the_driver(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[int]()
    driver.answers["nvmlInit"] = lambda: begun.append(1)
    device = CudaDevice(CUDA, {})
    device.use()
    assert len(begun) == 1
    monkeypatch.setattr("os.getpid", lambda: -1)
    device.use()
    device.own_bytes()
    assert len(begun) == 2


def test_what_the_driver_said_last_counts_where_it_answers_with_an_error(driver: Driver) -> None:
    def fails(handle: str) -> None:
        raise Driver.NVMLError("Uninitialized")

    device = CudaDevice(CUDA, {})
    driver.used_bytes = 4000
    assert (device.own_bytes(), device.use().used_bytes) == (3000, 4000)
    driver.answers |= dict.fromkeys(("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetComputeRunningProcesses_v3"), fails)
    assert (device.own_bytes(), device.use().used_bytes) == (3000, 4000)


def test_packages_for_processor_and_device_beside_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_device, "_installed", lambda package: package.startswith("onnxruntime"))
    with pytest.raises(DeviceMissing, match="onnxruntime and onnxruntime-gpu are both installed"):
        found_device(CUDA)


def test_xgboost_that_falls_back_by_itself_is_caught(driver: Driver) -> None:
    rows = np.random.default_rng(7).normal(size=(20, 2)).astype(np.float32)
    booster = xgboost.train({"max_depth": 1}, xgboost.DMatrix(rows, rows[:, 0]), 1)
    with pytest.raises(DeviceMissing, match="XGBoost found no cuda:0, and would predict on the processor"):
        CudaDevice(CUDA, {}).place(booster)


def test_an_onnx_runtime_without_cuda_is_refused(driver: Driver) -> None:
    with pytest.raises(DeviceMissing, match="has no CUDAExecutionProvider"):
        CudaDevice(CUDA, {}).session(b"", onnxruntime.SessionOptions(), 1)


def test_the_endpoint_looks_in_a_process_of_its_own() -> None:
    looked = subprocess.run(
        [sys.executable, "-m", "torpor_container.devices", "cuda:0"], capture_output=True, text=True, check=False
    )
    assert (looked.returncode, looked.stdout.startswith("no device for TORPOR_DEVICE=cuda:0: ")) == (1, True)


def test_an_error_of_the_device_becomes_one_of_torpors_and_any_other_stays() -> None:
    device = SimulatedDevice()
    with pytest.raises(DeviceFull), DeviceFaults(device):
        raise RuntimeError("CUDA failure 2: out of memory")
    with pytest.raises(ValueError, match="rows"), DeviceFaults(device):
        raise ValueError("rows")
    with pytest.raises(LoadFailed), DeviceFaults(device):
        raise LoadFailed("out of memory")
    with pytest.raises(DeviceLost), DeviceFaults(device):
        raise RuntimeError("an illegal memory access was encountered")
    with pytest.raises(DeviceLost, match="is lost"), DeviceFaults(device):
        pass  # nothing more is tried on it
