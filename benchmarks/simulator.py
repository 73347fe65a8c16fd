"""`python -m benchmarks.simulator [--short]`: how fast the simulator is on one core, beside SimPy and cachetools.

Rounds alternate between all of them, in processor time. With `make compiled` before it, the compiled simulator takes
part, and must tell the same story to the byte. It asserts no speed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from benchmarks.tables import table
from torpor.simulator.curves import lru_curve
from torpor.simulator.kernel import Kernel
from torpor.simulator.profile import ModelProfile
from torpor.simulator.running import Digest, Given, Spreads, run
from torpor.simulator.scenario import Scenario
from torpor.simulator.workloads import Recorded, drawn, zipf

RESULTS = Path(__file__).parent / "results"
COMPILED = Path(__file__).parent.parent / "build" / "compiled"
MODELS = 1_000
SHARE = 0.2
"""Of what all models take, that much memory there is."""

Rate = Callable[[], float]
"""Does something for a while. So many a second of processor time."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulator", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    parser.add_argument("--rates", action="store_true", help="print this interpreter's own engine rates as JSON")
    wanted = parser.parse_args()
    requests, rounds = (20_000, 1) if wanted.short else (300_000, 3)
    if wanted.rates:
        print(json.dumps(engine_rates(requests)))
        return
    results = measured(requests, rounds)
    show(results)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "simulator.json").write_text(json.dumps(results, indent=1))


def measured(requests: int, rounds: int) -> dict[str, Any]:
    short = ["--short"] if requests < 100_000 else []
    others: dict[str, Rate] = {
        "kernel, events": kernel_events,
        "exact miss-ratio curve, requests": curve(requests),
        "SimPy, events": simpy_events,
        "SimPy's M/M/1, requests": simpy_queue,
        "cachetools' LRU, requests": cachetools_lru(requests),
    }
    seen: dict[str, list[float]] = {}
    digests: dict[str, set[str]] = {}
    for _ in range(rounds):
        for side, path in (("plain", None), ("compiled", COMPILED)):
            if path is None or path.is_dir():
                for name, (per_s, digest) in _elsewhere(path, short).items():
                    seen.setdefault(f"{name} ({side})", []).append(per_s)
                    digests.setdefault(name, set()).add(digest)
        for name, rate in others.items():
            seen.setdefault(name, []).append(rate())
    return {
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0], "python": sys.version.split()[0]},
        "requests": requests,
        "rounds": rounds,
        "same_story": all(len(found) == 1 for found in digests.values()),
        "per_second": {name: {"median": median(rates), "best": max(rates)} for name, rates in seen.items()},
    }


def show(results: dict[str, Any]) -> None:
    console = Console(width=120)
    console.print(f"{results['machine']}, {results['rounds']} rounds of {results['requests']:,} requests")
    rows = [
        {"what": name, "median a second": f"{rate['median']:,.0f}", "best": f"{rate['best']:,.0f}"}
        for name, rate in results["per_second"].items()
    ]
    console.print(table("Of processor time, one core", rows))
    console.print(f"plain and compiled tell the same story: {results['same_story']}")


# -- the engine ----------------------------------------------------------------------------------------------------
def engine_rates(requests: int) -> dict[str, tuple[float, str]]:
    """By what is simulated: requests a second of processor time, and a fingerprint of all decisions."""
    return {
        f"engine, {policy}, {share:.0%} of the models in memory": _engine(policy, share, requests)
        for policy, share in (("LRU", SHARE), ("GDSF", SHARE), ("LRU", 0.9), ("GDSF", 0.9))
    }


def _engine(policy: str, share: float, requests: int) -> tuple[float, str]:
    """Two instances with eight processors each; a model loads in about a tenth of a second, and predicts in 20 ms."""
    made = zipf(MODELS, 1.0, 100.0, requests / 100.0, seed=1)
    trace = Recorded(made.names, list(made.chunks()))
    profiles = {name: _quick(profile) for name, profile in drawn(made.names, 1).items()}
    total_bytes = sum(profile.memory_bytes for profile in profiles.values())
    scenario = Scenario(
        instances=2, policy=policy, memory_bytes=int(share * total_bytes / 2), disk_bytes=total_bytes, threads=8,
        processors=8, loads_max=8,
    )  # fmt: skip
    given, digest = Given(trace, profiles, Spreads(), 1, "benchmark"), Digest()
    run(given, scenario, digest)  # not timed: decisions are written down
    result = run(given, scenario)
    return result.requests / result.took_s, digest.hex


def _quick(profile: ModelProfile) -> ModelProfile:
    load_s, download_s = 0.05 + profile.memory_bytes / 2e9, 0.01 + profile.memory_bytes / 4e9
    return replace(profile, load_s=load_s, download_s=download_s, unpack_s=0.005, predict_s=0.02)


def _elsewhere(path: Path | None, arguments: Sequence[str]) -> dict[str, tuple[float, str]]:
    """In an interpreter of its own, which imports this path's packages first."""
    around = {**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})}
    command = [sys.executable, "-m", "benchmarks.simulator", "--rates", *arguments]
    printed = subprocess.run(command, env=around, capture_output=True, text=True, check=True).stdout
    return {name: (rate, digest) for name, (rate, digest) in json.loads(printed).items()}


# -- beside it -----------------------------------------------------------------------------------------------------
def kernel_events() -> float:
    """A hundred actions that plan themselves again, and do nothing else."""
    kernel = Kernel()

    def tick(gap_s: float) -> None:
        kernel.after(gap_s, tick, gap_s)

    for number in range(100):
        kernel.at(0.0, tick, 1.0 + number / 1000)
    return _rate(lambda: kernel.run(5_000.0), lambda: kernel.events)


def curve(requests: int) -> Rate:
    made = zipf(MODELS, 1.0, 100.0, 3 * requests / 100.0, seed=1)
    trace = Recorded(made.names, list(made.chunks()))
    sizes = {name: profile.memory_bytes for name, profile in drawn(made.names, 1).items()}
    count = sum(map(len, trace.parts))
    return lambda: _rate(lambda: lru_curve(trace, sizes), lambda: count)


def simpy_events() -> float:
    """The same hundred, as SimPy's processes."""
    import simpy

    environment, events = simpy.Environment(), 0

    def ticking(gap_s: float) -> Any:
        nonlocal events
        while True:
            yield environment.timeout(gap_s)
            events += 1

    for number in range(100):
        environment.process(ticking(1.0 + number / 1000))
    return _rate(lambda: environment.run(2_000.0), lambda: events)


def simpy_queue() -> float:
    """One server and its queue: a request, and nothing of models."""
    import simpy

    environment, served = simpy.Environment(), 0
    server = simpy.Resource(environment)

    def request() -> Any:
        nonlocal served
        with server.request() as turn:
            yield turn
            yield environment.timeout(0.5)
        served += 1

    def arriving() -> Any:
        for _ in range(50_000):
            environment.process(request())
            yield environment.timeout(1.0)

    environment.process(arriving())
    return _rate(environment.run, lambda: served)


def cachetools_lru(requests: int) -> Rate:
    """Hits and evictions by size alone: no time, no pins, no reasons."""
    from cachetools import LRUCache

    made = zipf(MODELS, 1.0, 100.0, requests / 100.0, seed=1)
    sizes = {name: profile.memory_bytes for name, profile in drawn(made.names, 1).items()}
    asked = [made.names[number] for chunk in made.chunks() for number in chunk.models.tolist()]

    def replayed() -> None:
        cache: LRUCache[str, str] = LRUCache(SHARE * sum(sizes.values()), sizes.__getitem__)
        for name in asked:
            if cache.get(name) is None:
                cache[name] = name

    return lambda: _rate(replayed, lambda: len(asked))


def _rate(work: Callable[[], object], done: Callable[[], int]) -> float:
    began_s = time.process_time()
    work()
    return done() / (time.process_time() - began_s)


if __name__ == "__main__":
    main()
