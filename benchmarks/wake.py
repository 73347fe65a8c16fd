"""`python -m benchmarks.wake [--short]`: from nothing running to the first byte of an answer, alone and in crowds.

It says what was slow, wrong or lost, and asserts nothing.
"""

import argparse
import asyncio
import http.client
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import scene
from benchmarks.caller import Answer, Caller, invocation, steps_ms
from benchmarks.own_answers import is_right, make_models
from benchmarks.sleeping import BUCKET, Sleepers, rss_mib, sleepers

RESULTS = Path(__file__).parent / "results"
TARGET = "own-0.tar.gz"
HEADERS = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": TARGET}


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    wakes: int = 30
    quiet_s: float = 20.0
    crowd: int = 1000
    models: int = 100
    rounds: int = 5
    endpoints: tuple[int, ...] = (1, 5, 25, 100)


SHORT = Sizes(wakes=3, quiet_s=5.0, crowd=100, models=10, rounds=1, endpoints=(1, 5))


@dataclass(frozen=True)
class Zero:
    """What runs when nobody calls."""

    what: str
    processes: int
    cpu_percent: float  # of one core
    rss_mib: float


@dataclass(frozen=True)
class Rush:
    """Requests that arrived together, each with a model of its own in mind."""

    what: str
    requests: int
    rounds: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    wrong: int
    lost: int
    instances: str  # started, in each round


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wake", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: few wakes, figures that mean little")
    sizes = SHORT if parser.parse_args().short else Sizes()
    with sleepers() as scenery:
        results = run(scenery, sizes)
    show(results)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "wake.json").write_text(json.dumps(results, indent=1))


def run(sleeping: Sleepers, sizes: Sizes) -> dict[str, Any]:
    answers = make_models(sleeping.process.bucket_folder(BUCKET) / "models", sizes.models)
    sleeping.add("alone")
    sleeping.add("crowd", instances=4)
    return {
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "wake_ms": wakes(sleeping, sizes.wakes),
        "crowd": [asdict(crowd(sleeping, answers, sizes))],
        "dawn": [asdict(row) for row in dawn(sleeping, answers, sizes)],
        "zero": [asdict(row) for row in at_zero(sleeping, sizes.quiet_s)],  # last, with all those endpoints in service
    }


# -- one request -------------------------------------------------------------------------------------------------------
def wakes(sleeping: Sleepers, count: int) -> list[dict[str, Any]]:
    """One call at a time to an endpoint that sleeps: with two clients, with the warm parent and without."""
    clients = {"http.client": _plain(sleeping), "boto3": _boto3(sleeping)}
    rows = []
    for warm_parent in (True, False):
        for name, call in clients.items():
            taken = [_wake(sleeping, call, warm_parent) for _ in range(count)]
            rows.append(_row({"client": name, "warm parent": "there" if warm_parent else "gone"}, taken))
    return rows


def _wake(sleeping: Sleepers, call: Callable[[], str], warm_parent: bool) -> tuple[float, dict[str, float]]:
    """Milliseconds to the first byte, and what `Server-Timing` says of them."""
    sleeping.until_asleep()
    if not warm_parent:
        sleeping.end_warm_parent()
    began_s = time.perf_counter()
    told = call()
    return 1000 * (time.perf_counter() - began_s), steps_ms(told)


def _plain(sleeping: Sleepers) -> Callable[[], str]:
    connection = http.client.HTTPConnection("127.0.0.1", sleeping.port, timeout=60)

    def call() -> str:
        connection.request("POST", "/endpoints/alone/invocations", scene.ROW, HEADERS)
        with connection.getresponse() as answer:
            told = answer.headers["server-timing"]
            assert answer.status == 200, answer.read()
            answer.read()
            return str(told)

    return call


def _boto3(sleeping: Sleepers) -> Callable[[], str]:
    runtime = sleeping.process.client("sagemaker-runtime")
    members = {"EndpointName": "alone", "TargetModel": TARGET, "ContentType": "text/csv", "Body": scene.ROW}
    return lambda: str(runtime.invoke_endpoint(**members)["ResponseMetadata"]["HTTPHeaders"]["server-timing"])


def _row(labels: dict[str, Any], taken: list[tuple[float, dict[str, float]]]) -> dict[str, Any]:
    """Percentiles of the whole, medians of its steps."""
    whole = [took_ms for took_ms, _ in taken]
    steps = {step: [told.get(step, 0.0) for _, told in taken] for _, told in taken for step in told}
    spread = {"wakes": len(taken), "p50": percentile(whole, 50), "p99": percentile(whole, 99), "max": max(whole)}
    return {**labels, **spread, **{step: median(seen) for step, seen in steps.items()}}


# -- nobody ------------------------------------------------------------------------------------------------------------
def at_zero(sleeping: Sleepers, quiet_s: float) -> list[Zero]:
    """With the warm parent that the last wake left, and once it is gone."""
    sleeping.until_asleep()
    with_it = _quiet("asleep, warm parent there", sleeping, quiet_s)
    sleeping.end_warm_parent()
    return [with_it, _quiet("asleep, warm parent gone", sleeping, quiet_s)]


def _quiet(what: str, sleeping: Sleepers, quiet_s: float) -> Zero:
    pids = scene.tree(sleeping.process.pid)
    before_s = scene.cpu_s(pids)
    time.sleep(quiet_s)
    return Zero(what, len(pids), 100 * (scene.cpu_s(pids) - before_s) / quiet_s, rss_mib(pids))


# -- many at once ------------------------------------------------------------------------------------------------------
def crowd(sleeping: Sleepers, answers: dict[str, float], sizes: Sizes) -> Rush:
    """Requests that arrive at once at one sleeping endpoint, over many models."""
    names = list(answers)
    wanted = [("crowd", names[number % len(names)]) for number in range(sizes.crowd)]
    return _rush(f"one endpoint, {len(names)} models", sleeping, wanted, answers, sizes.rounds)


def dawn(sleeping: Sleepers, answers: dict[str, float], sizes: Sizes) -> list[Rush]:
    """Endpoints that are called at the same moment, one request each."""
    names = list(answers)
    endpoints = [f"dawn-{number}" for number in range(max(sizes.endpoints))]
    rows = []
    for known, count in zip((0, *sizes.endpoints), sizes.endpoints, strict=False):
        for name in endpoints[known:count]:
            sleeping.add(name)
        wanted = [(name, names[number % len(names)]) for number, name in enumerate(endpoints[:count])]
        rows.append(_rush(f"{count} endpoints", sleeping, wanted, answers, sizes.rounds))
    return rows


def _rush(what: str, sleeping: Sleepers, wanted: list[tuple[str, str]], answers: dict[str, float], rounds: int) -> Rush:
    """`wanted` is the endpoint and the model of each request."""
    took_ms: list[float] = []
    started: list[int] = []
    wrong = lost = 0
    for _ in range(rounds):
        sleeping.until_asleep()
        before = _started(sleeping, wanted)
        ends = asyncio.run(_at_once(sleeping.port, wanted))
        started.append(_started(sleeping, wanted) - before)
        for (_, model), end in zip(wanted, ends, strict=True):
            if isinstance(end, BaseException) or end.status != 200:
                lost += 1
                continue
            wrong += not is_right(end.body, answers[model])
            took_ms.append(1000 * end.waited_s)
    p50_ms, p95_ms, p99_ms = (percentile(took_ms, percent) for percent in (50, 95, 99))
    instances = ", ".join(map(str, started))
    return Rush(what, len(wanted), rounds, p50_ms, p95_ms, p99_ms, max(took_ms), wrong, lost, instances)


def _started(sleeping: Sleepers, wanted: list[tuple[str, str]]) -> int:
    return sum(sleeping.started(name) for name in {endpoint for endpoint, _ in wanted})


async def _at_once(port: int, wanted: list[tuple[str, str]]) -> list[Answer | BaseException]:
    """Every connection is made before the first request is sent."""
    callers = await asyncio.gather(*(Caller.connected(port) for _ in wanted))
    calls = (
        asyncio.wait_for(caller.call(invocation(endpoint, model, scene.ROW)), 120.0)
        for caller, (endpoint, model) in zip(callers, wanted, strict=True)
    )
    ends = await asyncio.gather(*calls, return_exceptions=True)
    await asyncio.gather(*(caller.close() for caller in callers))
    return ends


def percentile(taken: list[float], percent: int) -> float:
    return quantiles(taken, n=100, method="inclusive")[percent - 1] if len(taken) > 1 else taken[0]


# -- the tables --------------------------------------------------------------------------------------------------------
def show(results: dict[str, Any]) -> None:
    console = Console(width=160)
    console.print(f"{results['machine']}")
    for title, name in (
        ("One request to an endpoint that sleeps: ms to the first byte; medians of its steps", "wake_ms"),
        ("At zero", "zero"),
        ("Requests that arrive at once: ms to the first byte", "crowd"),
        ("Endpoints that are woken at the same moment: ms to the first byte", "dawn"),
    ):
        console.print(_table(title, results[name]))


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name in columns:
        table.add_column(name.replace("_", " "))
    for row in rows:
        table.add_row(*(_shown(row.get(name, "")) for name in columns))
    return table


def _shown(cell: object) -> str:
    return f"{cell:,.1f}" if isinstance(cell, float) else str(cell)


if __name__ == "__main__":
    main()
