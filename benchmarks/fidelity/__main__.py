"""`python -m benchmarks.fidelity [--short]`: traces through a live endpoint and through the simulator, side by side.

The room is calibrated on a trace of its own, the times on every other two seconds of each. It asserts nothing.
"""

import os
import pickle
import tempfile
from argparse import Namespace
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.fidelity.comparing import SIZE, Calibration, between_halves, differences, live, simulated
from benchmarks.fidelity.live import Lived
from benchmarks.fidelity.record import SHORT, Record, Setting, live_through
from benchmarks.tables import table
from torpor.simulator.scenario import Scenario
from torpor.workloads import Recorded

LIVED, LEDGER = "lived.pickle", "ledger.sqlite"
SEEDS = 5


def main() -> None:
    parser = command("fidelity", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    parser.add_argument("--traces", type=int, help="how many traces to compare, beside the one for calibration")
    parser.add_argument("--rate-hz", type=float, help="requests a second: a machine that is full tells little")
    parser.add_argument("--memory-mib", type=float)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what was lived, for --again")
    parser.add_argument("--again", type=Path, metavar="DIR", help="live nothing: simulate what was kept there")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = wanted.again or wanted.keep or Path(folder)
        if wanted.again is None:
            kept.mkdir(parents=True, exist_ok=True)
            (kept / LIVED).write_bytes(pickle.dumps(live_through(_setting(wanted), Path(folder), kept / LEDGER)))
        results = compared(pickle.loads((kept / LIVED).read_bytes()), kept / LEDGER)
    show(results)
    keep(wanted.results, "fidelity", results)


def _setting(wanted: Namespace) -> Setting:
    changes = {
        name: value for name in ("traces", "rate_hz", "memory_mib") if (value := getattr(wanted, name)) is not None
    }
    return replace(SHORT if wanted.short else Setting(), **changes)


def compared(record: Record, ledger: Path) -> dict[str, Any]:
    """Simulate each trace except the first as it was played live."""
    setting, (first, *others) = record.setting, zip(record.traces, record.lived, strict=True)
    scenario = Scenario(SIZE, instances_min=0, instances_max=1, idle_s=setting.sleep_after_s, threads=2, processors=1)
    calibration = Calibration.of(*first, ledger, scenario)
    return {
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "setting": asdict(setting),
        "calibrated": {
            "models_bytes": sum(profile.memory_bytes for profile in calibration.inputs.profiles.values()),
            "wake_s": calibration.scenario.wake_s,
            **asdict(calibration.unknowns),
        },
        "traces": [_row(number, lived, calibration, one) for number, (one, lived) in enumerate(others, 1)],
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
