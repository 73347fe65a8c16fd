"""The times and sizes of AWS's contract. `scaled` changes the times, for a quick check or for a slow machine."""

from dataclasses import dataclass, replace

MIB = 1024 * 1024


@dataclass(frozen=True)
class ContractLimits:
    """Seconds and bytes. Where AWS names no number, the comment says what the value is."""

    connect_s: float = 0.25  # your-algorithms-inference-code; it is not scaled
    ping_s: float = 2.0  # your-algorithms-inference-code
    invoke_s: float = 60.0  # your-algorithms-inference-code
    load_s: float = 360.0  # invoke-multi-model-endpoint: download and load together
    unload_s: float = 360.0  # no number of AWS: Triton's server stops by itself before 360 s
    start_s: float = 480.0  # your-algorithms-inference-code: 8 minutes
    stop_s: float = 30.0  # your-algorithms-inference-code
    request_bytes: int = 6 * MIB  # InvokeEndpoint's BodyBlob
    hop_bytes: int = 5 * MIB  # inference-pipeline-troubleshoot

    def scaled(self, by: float) -> "ContractLimits":
        """The limits with each time but `connect_s` multiplied."""
        names = ("ping_s", "invoke_s", "load_s", "unload_s", "start_s", "stop_s")
        return replace(self, **{name: getattr(self, name) * by for name in names})
