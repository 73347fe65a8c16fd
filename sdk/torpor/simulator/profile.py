"""What one model takes: bytes and seconds, as measured, fitted or given. Values only."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """Sizes in bytes, times in seconds. `disk_bytes` is the artifact unpacked, `memory_bytes` the model loaded."""

    name: str
    memory_bytes: int
    disk_bytes: int
    download_s: float = 0.002
    unpack_s: float = 0.002
    load_s: float = 0.005
    unload_s: float = 0.001
    predict_s: float = 0.001
