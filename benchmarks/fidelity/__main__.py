"""`python -m benchmarks.fidelity [--short]`: traces through a live endpoint and through the simulator, side by side.

The room is calibrated on a trace of its own, the times on every other two seconds of each. It asserts nothing.
"""

import os
import tempfile
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.fidelity.comparing import SIZE, Calibration, between_halves, differences, live, simulated
from benchmarks.fidelity.live import Lived, endpoint, make_models
from benchmarks.fidelity.traces import everyone, trace
from benchmarks.tables import table
from torpor.simulator.scenario import Scenario
from torpor.simulator.workloads import Recorded

SEEDS = 5
EXPONENTS = (1.0, 0.9, 1.1)
"""Of Zipf's law. The first trace is for calibration."""


@dataclass(frozen=True)
class Setting:
    """How much of everything."""

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


def main() -> None:
    parser = command("fidelity", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    parser.add_argument("--traces", type=int, help="how many traces to compare, beside the one for calibration")
    parser.add_argument("--rate-hz", type=float, help="requests a second: a machine that is full tells little")
    parser.add_argument("--memory-mib", type=float)
    wanted = parser.parse_args()
    setting = SHORT if wanted.short else Setting()
    changes = {
        name: value for name in ("traces", "rate_hz", "memory_mib") if (value := getattr(wanted, name)) is not None
    }
    setting = Setting(**{**asdict(setting), **changes})
    with tempfile.TemporaryDirectory() as folder:
        results = run(setting, Path(folder))
    show(results)
    keep(wanted.results, "fidelity", results)


def run(setting: Setting, folder: Path) -> dict[str, Any]:
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
        scenario = Scenario(
            SIZE, instances_min=0, instances_max=1, idle_s=setting.sleep_after_s, threads=2, processors=1
        )  # fmt: skip
        calibration = Calibration.of(traces[0], first, running.ledger, scenario)
        rows = [_row(number, running.lived(one), calibration, one) for number, one in enumerate(traces[1:], 1)]
    return {
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "setting": asdict(setting),
        "calibrated": {
            "models_bytes": sum(profile.memory_bytes for profile in calibration.given.profiles.values()),
            "wake_s": calibration.scenario.wake_s,
            **asdict(calibration.unknowns),
        },
        "traces": rows,
    }


def _row(number: int, lived: Lived, calibration: Calibration, one: Recorded) -> dict[str, Any]:
    there, calibrated = live(lived), calibration.on(one, lived)
    here = simulated(calibrated.simulated(seed) for seed in range(SEEDS))
    return {
        "trace": number,
        "late_p99_s": lived.replayed.late_s(0.99),
        "failed": lived.replayed.failed,
        "calibrated": asdict(calibrated.unknowns),
        "live": asdict(there),
        "simulated": asdict(here),
        "difference": differences(there, here),
        "between_halves": between_halves(lived),
    }


def show(results: dict[str, Any]) -> None:
    console = Console(width=150)
    console.print(f"{results['machine']}, {results['setting']}\n{results['calibrated']}")
    for row in results["traces"]:
        sides = [{"side": side, **_told(row[side])} for side in ("live", "simulated")]
        sides.append({"side": "difference", **_signed(row["difference"])})
        sides.append({"side": "live, by halves", **_signed(row["between_halves"])})
        title = f"Trace {row['trace']}: sent late by {row['late_p99_s'] * 1000:.1f} ms at p99, {row['failed']} failed"
        console.print(table(title, sides))
    names = results["traces"][0]["difference"]
    mean = {name: f"{fmean(abs(row['difference'][name]) for row in results['traces']):.2f}" for name in names}
    console.print(table("Mean size of the difference: percentage points of hits, percent of all else", [mean]))


def _signed(differences: dict[str, float]) -> dict[str, str]:
    return {name: f"{value:+.2f}" for name, value in differences.items()}


def _told(figures: dict[str, float]) -> dict[str, str]:
    return {name: f"{value:,.5g}" for name, value in figures.items()}


if __name__ == "__main__":
    main()
