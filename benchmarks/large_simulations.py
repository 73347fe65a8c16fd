"""`python -m benchmarks.large_simulations [--short]`: simulations of very many models, instances and requests.

Each runs in an interpreter of its own, which also says the most memory that it took. Speeds are requests a second of
processor time, without the making of the models. After `make compiled` the compiled simulator takes part. Nothing
asserts a time.
"""

import json
import os
import resource
import sys
from dataclasses import dataclass, replace
from subprocess import PIPE, run
from typing import Any

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.simulator import COMPILED, compiled_of_these, quick
from benchmarks.tables import table
from torpor.simulator import simulation_run
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, Spreads
from torpor.workloads import drawn, zipf


@dataclass(frozen=True)
class Size:
    """A simulation. An instance has memory for `room` models of mean size, and disk for twice as many."""

    models: int
    instances: int
    room: int
    threads: int  # and processors, of each instance
    rate_hz: float
    requests: int = 1_000_000


SIZES = {
    "a million models on a thousand instances": Size(1_000_000, 1_000, 25, 8, 10_000.0),
    "a million models on ten instances": Size(1_000_000, 10, 2_000, 32, 1_000.0),
    "one instance with three times its load": Size(1_000, 1, 500, 6, 1_000.0, 200_000),
    "ten million requests": Size(1_000, 2, 100, 8, 100.0, 10_000_000),
}


def main() -> None:
    parser = command("large_simulations", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    parser.add_argument("--answer", choices=SIZES, help="run this one here, and print JSON")
    wanted = parser.parse_args()
    if wanted.answer is not None:
        json.dump(played(shortened(SIZES[wanted.answer]) if wanted.short else SIZES[wanted.answer]), sys.stdout)
        return
    results = measured(wanted.short)
    Console(width=140).print(table(f"Simulations, {results['machine']}", results["simulations"]))
    keep(wanted.results, "large_simulations", results)


def shortened(size: Size) -> Size:
    return replace(size, models=1_000, instances=min(size.instances, 20), requests=5_000)


def measured(short: bool) -> dict[str, Any]:
    sides = {"plain": None, **({"compiled": COMPILED} if compiled_of_these() else {})}
    rows = []
    for name in SIZES:
        for side, path in sides.items():
            around = {**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})}
            arguments = ["--answer", name, *(["--short"] if short else [])]
            asked = [sys.executable, "-m", "benchmarks.large_simulations", *arguments]
            answer = run(asked, env=around, stdout=PIPE, check=True)
            rows.append({"simulation": f"{name} ({side})", **json.loads(answer.stdout)})
    return {"machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0]}, "simulations": rows}


def played(size: Size) -> dict[str, float]:
    made = zipf(size.models, 1.0, size.rate_hz, size.requests / size.rate_hz, seed=1)
    profiles = {name: quick(profile) for name, profile in drawn(made.names, 1).items()}
    mean_bytes = sum(profile.memory_bytes for profile in profiles.values()) / len(profiles)
    room_bytes = int(size.room * mean_bytes)
    scenario = Scenario(
        instances=size.instances, memory_bytes=room_bytes, disk_bytes=2 * room_bytes, threads=size.threads,
        processors=size.threads, loads_max=size.threads,
    )  # fmt: skip
    result = simulation_run.run(SimulationInputs(made, profiles, Spreads(), 1, "benchmark"), scenario)
    return {
        "requests": result.requests,
        "requests a second": round(result.requests / result.took_s),
        "hit ratio": result.hit_ratio,
        "loads": result.loads,
        "peak MiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


if __name__ == "__main__":
    main()
