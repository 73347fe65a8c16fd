"""The words of CUDA's libraries, and what they mean for the device."""

import pytest

from torpor_container.core.devices.device_faults import DeviceFault, fault_in

FULL = [
    "CUDA failure 2: out of memory ; GPU=0 ; hostname=box",
    "BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 1073741824",
    "Available memory of 1048576 is smaller than requested bytes of 4194304",
    "transform: failed inside CUB: cudaErrorMemoryAllocation: out of memory",
    "CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED",
]
LOST = [
    "CUDA failure 700: an illegal memory access was encountered ; GPU=0",
    "cudaErrorLaunchFailure: unspecified launch failure",
    "CUDA failure 214: uncorrectable ECC error encountered",
    "parallel_for failed: cudaErrorNoDevice: no CUDA-capable device is detected",
]

FULL_CODES = (
    *("cudaErrorMemoryAllocation", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"),
    "std::bad_alloc",
)
LOST_CODES = (
    *("cudaErrorIllegalAddress", "cudaErrorLaunchFailure", "cudaErrorNoDevice", "cudaErrorDevicesUnavailable"),
    *("device-side assert triggered", "misaligned address", "GPU is lost", "GPU has fallen off the bus"),
    "CUDA-capable device(s) is/are busy or unavailable",
)


@pytest.mark.parametrize("text", FULL)
def test_a_device_without_memory_is_full(text: str) -> None:
    assert fault_in(text) is DeviceFault.FULL


@pytest.mark.parametrize("text", LOST)
def test_a_device_that_refuses_all_work_is_lost(text: str) -> None:
    assert fault_in(text) is DeviceFault.LOST


def test_an_error_after_the_loss_is_a_loss_even_if_it_speaks_of_memory() -> None:
    assert fault_in("Failed to allocate memory: an illegal memory access was encountered") is DeviceFault.LOST


@pytest.mark.parametrize("text", ["", "Got invalid dimensions for input: rows", "Check failed: valid"])
def test_other_errors_are_the_models(text: str) -> None:
    assert fault_in(text) is None


def test_each_code_alone_says_what_it_means() -> None:
    assert {fault_in(f"failed: {code}") for code in FULL_CODES} == {DeviceFault.FULL}
    assert {fault_in(f"failed: {code}") for code in LOST_CODES} == {DeviceFault.LOST}
