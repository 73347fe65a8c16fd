"""`python -m benchmarks.simulator [--short]`: how fast the simulator is on one core, beside SimPy and cachetools.

All of them take turns in many short rounds, so that they see the same phases of the machine; times are processor time.
After `make compiled`, the compiled simulator takes part, and must take the same decisions to the byte. No speed is
asserted.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from typing import Any

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.tables import table
from torpor.hit_rates.curves import lru_curve
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, Spreads
from torpor.simulator.simulation_run import DecisionDigest, run
from torpor.workloads import Recorded, drawn, zipf
from torpor.workloads.profile import ModelProfile

ROOT = Path(__file__).parent.parent
COMPILED = ROOT / "build" / "compiled"
SOURCES = ("container/torpor_container", "endpoint/torpor_endpoint", "sdk/torpor")
"""The packages that `make compiled` copies there."""
MODELS = 1_000
SHARE = 0.2
"""The memory, as a share of the bytes of all models."""
ENGINES = {
    f"engine, {policy}, {share:.0%} of the models in memory": (policy, share)
    for share in (SHARE, 0.9)
    for policy in ("LRU", "GDSF")
}
KERNEL = "kernel, events"
SIMPY, CACHETOOLS = "SimPy, events", "cachetools' LRU, requests"
"""The yardsticks, which are measured in the same rounds."""

Rate = Callable[[], float]
"""Runs for a while, and returns the rate per second of processor time."""


def main() -> None:
    parser = command("simulator", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    parser.add_argument("--answer", type=int, metavar="REQUESTS", help="run this interpreter's engines as stdin asks")
    wanted = parser.parse_args()
    if wanted.answer:
        answer(wanted.answer)
        return
    requests, rounds = (20_000, 1) if wanted.short else (100_000, 15)
    results = measured(requests, rounds)
    show(results)
    keep(wanted.results, "simulator", results)


def measured(requests: int, rounds: int) -> dict[str, Any]:
    with ExitStack() as stack:
        sides = {"plain": stack.enter_context(_elsewhere(None, requests))}
        if compiled_of_these():
            sides["compiled"] = stack.enter_context(_elsewhere(COMPILED, requests))
        rates: dict[str, Rate] = {
            f"{name} ({side})": partial(_asked_rate, ask, name)
            for name in (*ENGINES, KERNEL)
            for side, ask in sides.items()
        }
        rates |= {
            "exact miss-ratio curve, requests": curve(9 * requests),
            SIMPY: simpy_events,
            "SimPy's M/M/1, requests": simpy_queue,
            CACHETOOLS: cachetools_lru(requests),
        }
        same_story = all(len({ask(f"story {name}") for ask in sides.values()}) == 1 for name in ENGINES)
        taken = [{name: rate() for name, rate in rates.items()} for _ in range(rounds)]
    per_second = {name: [one[name] for one in taken] for name in rates}
    return {
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0], "python": sys.version.split()[0]},
        "requests": requests,
        "rounds": rounds,
        "same_story": same_story,
        "per_second": {
            name: {
                "median": median(each),
                "best": max(each),
                "beside SimPy": _beside(each, per_second[SIMPY]),
                "beside cachetools": _beside(each, per_second[CACHETOOLS]),
            }
            for name, each in per_second.items()
        },
    }


def compiled_of_these(compiled: Path = COMPILED) -> bool:
    """Whether the simulator was compiled. The program exits if it was compiled from other sources."""
    if not compiled.is_dir():
        return False
    for package in map(ROOT.joinpath, SOURCES):
        for source in package.rglob("*.py"):
            copy = compiled / source.relative_to(package.parent)
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                raise SystemExit(
                    f"{source.relative_to(ROOT)} has changed since: `make compiled` again, or remove {compiled}"
                )
    return True


def _beside(each: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of each round."""
    return median(one / other for one, other in zip(each, theirs, strict=True))


def show(results: dict[str, Any]) -> None:
    console = Console(width=120)
    console.print(f"{results['machine']}, {results['rounds']} rounds of {results['requests']:,} requests")
    rows = [
        {
            "what": name,
            "median a second": f"{rate['median']:,.0f}",
            "best": f"{rate['best']:,.0f}",
            "beside SimPy": rate["beside SimPy"],
            "beside cachetools": rate["beside cachetools"],
        }
        for name, rate in results["per_second"].items()
    ]
    console.print(table("Of processor time, one core", rows))
    console.print(f"plain and compiled tell the same story: {results['same_story']}")


# -- the engine ----------------------------------------------------------------------------------------------------
def answer(requests: int) -> None:
    """Answer the lines of stdin: `rate ENGINE` with the requests per second of processor time, `story ENGINE` with a
    hash of all decisions; the kernel has a rate too."""
    inputs = _given(requests)
    for line in sys.stdin:
        asked, _, name = line.strip().partition(" ")
        if name == KERNEL:
            print(kernel_events(), flush=True)
            continue
        digest = DecisionDigest() if asked == "story" else None
        result = run(inputs, _scenario(inputs, *ENGINES[name]), digest)
        print(result.requests / result.took_s if digest is None else digest.hex, flush=True)


def _given(requests: int) -> SimulationInputs:
    """Inputs in which a model loads in about 0.1 s, and predicts in 20 ms."""
    made = zipf(MODELS, 1.0, 100.0, requests / 100.0, seed=1)
    profiles = {name: quick(profile) for name, profile in drawn(made.names, 1).items()}
    return SimulationInputs(Recorded(made.names, list(made.chunks())), profiles, Spreads(), 1, "benchmark")


def _scenario(inputs: SimulationInputs, policy: str, share: float) -> Scenario:
    """A scenario of two instances with eight processors each."""
    total_bytes = sum(profile.memory_bytes for profile in inputs.profiles.values())
    return Scenario(
        instances=2, policy=policy, memory_bytes=int(share * total_bytes / 2), disk_bytes=total_bytes, threads=8,
        processors=8, loads_max=8,
    )  # fmt: skip


def quick(profile: ModelProfile) -> ModelProfile:
    """The profile of a model that loads in about 0.1 s, and predicts in 20 ms."""
    load_s, download_s = 0.05 + profile.memory_bytes / 2e9, 0.01 + profile.memory_bytes / 4e9
    return replace(profile, load_s=load_s, download_s=download_s, unpack_s=0.005, predict_s=0.02)


@contextmanager
def _elsewhere(path: Path | None, requests: int) -> Iterator[Callable[[str], str]]:
    """A function that asks another interpreter, which imports the packages of this path first."""
    around = {**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})}
    command = [sys.executable, "-m", "benchmarks.simulator", "--answer", str(requests)]
    with Popen(command, env=around, stdin=PIPE, stdout=PIPE, text=True) as other:

        def ask(line: str) -> str:
            assert other.stdout is not None
            print(line, file=other.stdin, flush=True)
            return other.stdout.readline().strip()

        yield ask


def _asked_rate(ask: Callable[[str], str], name: str) -> float:
    return float(ask(f"rate {name}"))


# -- beside it -----------------------------------------------------------------------------------------------------
def kernel_events() -> float:
    """The rate of a hundred actions that only plan themselves again."""
    kernel = Kernel()

    def tick(gap_s: float) -> None:
        kernel.after(gap_s, tick, gap_s)

    for number in range(100):
        kernel.at(0.0, tick, 1.0 + number / 1000)
    return _rate(lambda: kernel.run(5_000.0), lambda: kernel.events)


def curve(requests: int) -> Rate:
    made = zipf(MODELS, 1.0, 100.0, requests / 100.0, seed=1)
    trace = Recorded(made.names, list(made.chunks()))
    sizes = {name: profile.memory_bytes for name, profile in drawn(made.names, 1).items()}
    count = sum(map(len, trace.parts))
    return lambda: _rate(lambda: lru_curve(trace, sizes), lambda: count)


def simpy_events() -> float:
    """The rate of a hundred SimPy processes that do the same."""
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
    """The rate of a SimPy server with a queue, without models."""
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
    """The rate of a cachetools cache: hits and evictions by size, without time and pins."""
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
