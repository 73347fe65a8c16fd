"""What the text of a library's error means for a device: it is full, or lost, or it has no part in the error.

ONNX Runtime and XGBoost raise their own exceptions for all errors of CUDA, and have a code for none. The words are
those of CUDA's function for error texts, of ONNX Runtime's arena (its file bfc_arena.cc), and of cuBLAS and cuDNN.
"""

from enum import Enum, auto


class DeviceFault(Enum):
    """`LOST`: the process can do nothing more on the device; it must end."""

    FULL = auto()
    LOST = auto()


FULL = (
    "out of memory",
    "cudaErrorMemoryAllocation",
    "Failed to allocate memory",
    "is smaller than requested bytes",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "bad_alloc",
)
LOST = (
    "an illegal memory access",
    "unspecified launch failure",
    "device-side assert",
    "uncorrectable ECC",
    "misaligned address",
    "cudaErrorIllegalAddress",
    "cudaErrorLaunchFailure",
    "cudaErrorNoDevice",
    "no CUDA-capable device",
    "cudaErrorDevicesUnavailable",
    "device(s) is/are busy or unavailable",
    "GPU is lost",
    "fallen off the bus",
)


def fault_in(text: str) -> DeviceFault | None:
    """None: the device has no part in the error."""
    if any(words in text for words in LOST):
        return DeviceFault.LOST
    return DeviceFault.FULL if any(words in text for words in FULL) else None
