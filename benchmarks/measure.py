"""The measurements: each answers rows for a table, and asserts nothing."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torpor
from benchmarks import client, scene

TARGET = "X-Amzn-SageMaker-Target-Model"
CSV = {"content-type": "text/csv"}


@dataclass(frozen=True)
class Target:
    """Something that takes requests: where, what, and whose processor time counts."""

    name: str
    where: tuple[str, int] | str
    requests: list[bytes]
    pids: Callable[[], list[int]]


@dataclass(frozen=True)
class Warm:
    target: str
    connections: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


def warm(targets: list[Target], connections: tuple[int, ...], count: int, rounds: int) -> list[Warm]:
    """Medians over rounds; the targets take turns within each, so that a slow minute slows them all."""
    rows: list[Warm] = []
    for number in connections:
        seen: dict[str, list[Warm]] = {target.name: [] for target in targets}
        for _ in range(rounds):
            for target in targets:
                seen[target.name].append(_once(target, number, count))
        rows += [_median(runs) for runs in seen.values()]
    return rows


def _once(target: Target, connections: int, count: int) -> Warm:
    pids = target.pids()
    before_s = scene.cpu_s(pids)
    measured = asyncio.run(client.run(target.where, target.requests, connections, count))
    if measured.failures:
        raise RuntimeError(f"{measured.failures} of {count} requests to {target.name} failed")
    used_s = scene.cpu_s(pids) - before_s
    p50_ms, p99_ms = (1000 * measured.percentile(percent) for percent in (50, 99))
    return Warm(target.name, connections, measured.per_second, p50_ms, p99_ms, 1e6 * used_s / count)


def _median(runs: list[Warm]) -> Warm:
    def of(field: str) -> float:
        return float(median(getattr(run, field) for run in runs))

    return Warm(runs[0].target, runs[0].connections, of("per_second"), of("p50_ms"), of("p99_ms"), of("cpu_us"))


def endpoint_targets(running: "torpor.Local", names: list[str]) -> list[Target]:
    """The endpoint over its port, and its one instance over its own socket: the difference is the second hop."""
    host, port = running.url.removeprefix("http://").split(":")
    path = f"/endpoints/{running.name}/invocations"
    through = [client.request(path, {**CSV, TARGET: name}, scene.ROW) for name in names]
    direct = [client.request("/invocations", {**CSV, TARGET: name}, scene.ROW) for name in names]
    return [
        Target("endpoint and instance", (host, int(port)), through, lambda: scene.tree(running.pid)),
        Target("instance alone", _socket(running), direct, lambda: scene.tree(running.pid)),
    ]


def _socket(running: "torpor.Local") -> str:
    """The Unix socket of the first instance: the one socket named like an instance that this endpoint's tree holds."""
    listening = Path("/proc/net/unix").read_text().splitlines()
    (instance,) = instances(running)
    return next(line.split()[-1] for line in listening if line.endswith(str(instance["id"])))


def instances(running: "torpor.Local") -> list[dict[str, object]]:
    with urllib.request.urlopen(f"{running.url}/_torpor/endpoints") as answer:
        (endpoint,) = json.load(answer)["endpoints"]
    return [instance for variant in endpoint["variants"] for instance in variant["instances"]]


@contextmanager
def floor(folder: Path) -> Iterator[Target]:
    """The one-hop floor, as a target: over a Unix socket, as our own instances."""
    path = str(folder / "floor")
    server = ["gunicorn", "-k", "asgi", "-b", f"unix:{path}", "--log-level", "error", "--no-control-socket"]
    with _bare("floor: one hop, one model", [*server, "benchmarks.floor:make_app()"], folder, path) as target:
        yield target


@contextmanager
def reference(folder: Path) -> Iterator[Target]:
    """What people write themselves, as a target: over a port, as our own endpoint."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        where = ("127.0.0.1", free.getsockname()[1])
    command = ["benchmarks.reference", str(where[1])]
    with _bare("reference: uvicorn, one model", command, folder, where) as target:
        yield target


@contextmanager
def _bare(name: str, module: list[str], folder: Path, where: tuple[str, int] | str) -> Iterator[Target]:
    """A server of the first model, which BARE_MODEL names."""
    with tarfile.open(folder / "models" / "model-0.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    environment = {**os.environ, "BARE_MODEL": str(folder / "xgboost-model")}
    process = subprocess.Popen([sys.executable, "-m", *module], env=environment)
    try:
        deadline_s = time.monotonic() + 30
        while not _listens(where) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        requests = [client.request("/invocations", CSV, scene.ROW)]
        yield Target(name, where, requests, lambda: scene.tree(process.pid))
    finally:
        process.terminate()
        process.wait()


def _listens(where: tuple[str, int] | str) -> bool:
    with socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET) as caller:
        return caller.connect_ex(where) == 0


def cold(running: "torpor.Local", names: list[str]) -> dict[str, float]:
    """Medians, in milliseconds, of the first call to each model: the whole, and what `Server-Timing` says of it."""
    steps: dict[str, list[float]] = {}
    for name in names:
        began_s = time.perf_counter()
        answer = running.invoke_raw(name, scene.ROW, content_type="text/csv")
        steps.setdefault("whole call with boto3", []).append(1000 * (time.perf_counter() - began_s))
        timing = answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
        for part in timing.split(", "):
            step, _, took_ms = part.partition(";dur=")
            steps.setdefault(step, []).append(float(took_ms))
    return {step: median(took) for step, took in steps.items()}


def memory(running: "torpor.Local", names: list[str]) -> dict[str, float]:
    """KiB per model: what the instance grew by, over how many models it loaded."""
    running.invoke_raw(names[0], scene.ROW, content_type="text/csv")
    (before,) = instances(running)
    for name in names[1:]:
        running.invoke_raw(name, scene.ROW, content_type="text/csv")
    (after,) = instances(running)
    grown = int(str(after["used_bytes"])) - int(str(before["used_bytes"]))
    return {"models": float(len(names)), "KiB per model": grown / 1024 / (len(names) - 1)}
