"""Plays the live side and stores its results: playing takes three quarters of an hour, simulating it again a minute."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from benchmarks.fidelity.live import Lived, endpoint, make_models
from benchmarks.fidelity.traces import everyone, trace
from torpor.workloads import Recorded

EXPONENTS = (1.0, 0.9, 1.1)
"""The exponents of Zipf's law. The first trace is for calibration."""


@dataclass(frozen=True)
class Setting:
    """The size of a run."""

    traces: int = 2
    models: int = 300
    requests: int = 20_000
    room_requests: int = 10_000  # of the trace that the room is calibrated on
    rate_hz: float = 25.0
    naps: int = 19
    memory_mib: float = 95.0
    sleep_after_s: float = 4.0
    nap_s: float = 10.0


SHORT = Setting(traces=1, models=60, requests=600, room_requests=600, naps=1, memory_mib=45.0)


@dataclass(frozen=True)
class Record:
    """The live results: first of the calibration trace. The ledger at its end is stored beside them."""

    setting: Setting
    traces: Sequence[Recorded]
    lived: Sequence[Lived]


def live_through(setting: Setting, folder: Path, ledger: Path) -> Record:
    """Play all traces, one after the other. The ledger is copied after the calibration trace."""
    sizes = [setting.room_requests, *[setting.requests] * setting.traces]
    traces = [
        trace(setting.models, exponent, requests, setting.rate_hz, setting.naps, setting.nap_s, seed)
        for seed, (exponent, requests) in enumerate(zip(cycle(EXPONENTS), sizes, strict=False))
    ]
    make_models(folder / "models", list(traces[0].names))
    with endpoint(folder / "models", folder / "data", setting.memory_mib, setting.sleep_after_s) as running:
        running.until_asleep()
        running.apart()
        running.lived(everyone(traces[0].names, setting.rate_hz / 2))
        first = running.lived(traces[0])
        running.copy_ledger(ledger)
        return Record(setting, traces, [first, *map(running.lived, traces[1:])])
