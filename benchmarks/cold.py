"""`python -m benchmarks.cold [--short]`: the first call to a model that is not in memory, from S3 and from disk.

With few and with many others loaded, through the endpoint, over a kept connection. It asserts nothing.
"""

import argparse
import http.client
import io
import json
import os
import signal
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import xgboost
from rich.console import Console

from benchmarks import scene
from benchmarks.caller import steps_ms
from benchmarks.crowds import percentile
from benchmarks.sleeping import BUCKET
from benchmarks.tables import table
from torpor.deploying import Plan, deploy
from torpor.process import EndpointProcess

RESULTS = Path(__file__).parent / "results"
NAME = "cold"
"""The instance has a moment to end what a load leaves to do, which is part of what it costs."""
PAUSE_S = 0.01


@dataclass(frozen=True)
class Call:
    """One: to its answer, of that and what followed in any processor, and what `Server-Timing` says."""

    took_ms: float
    used_ms: float
    steps_ms: dict[str, float]


class Site:
    """An endpoint of one instance."""

    def __init__(self, process: EndpointProcess) -> None:
        self._process = process
        deploy(process.client("sagemaker"), Plan(NAME, f"s3://{BUCKET}/models/"))
        self._connection = http.client.HTTPConnection("127.0.0.1", int(process.url.rpartition(":")[2]), timeout=120)

    def load(self, names: list[str]) -> None:
        for name in names:
            self._called(name)

    def cold(self, names: list[str]) -> list[Call]:
        """The first calls to models that are not in memory."""
        calls = []
        for name in names:
            time.sleep(PAUSE_S)
            used_ms = self._used_ms()
            began_s = time.perf_counter()
            told = self._called(name)
            took_ms = 1000 * (time.perf_counter() - began_s)
            time.sleep(PAUSE_S)
            calls.append(Call(took_ms, self._used_ms() - used_ms, steps_ms(told)))
        return calls

    def end_instance(self) -> None:
        """It is killed, and the one that follows finds its disk."""
        before = self.instance
        os.kill(before, signal.SIGKILL)
        while self._instances() in ([], [before]):
            time.sleep(PAUSE_S)

    @property
    def instance(self) -> int:
        (pid,) = self._instances()
        return pid

    def _instances(self) -> list[int]:
        """The youngest generation: endpoint, its worker, the warm parent, and what that has forked."""
        tree = scene.tree(self._process.pid)
        return tree[3:]

    def _used_ms(self) -> float:
        return sum(used_ms(pid) for pid in scene.tree(self._process.pid))

    def _called(self, name: str) -> str:
        headers = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": name}
        self._connection.request("POST", f"/endpoints/{NAME}/invocations", scene.ROW, headers)
        with self._connection.getresponse() as answer:
            told = answer.headers["server-timing"]
            said = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} {said!r}")
        return str(told)


def used_ms(pid: int) -> float:
    """Processor time of all its threads that live, finer than the clock's ticks."""
    stats = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(stat.read_text().split()[0]) for stat in stats) / 1e6


def floor(archive: Path, count: int) -> dict[str, float]:
    """The steps that no one can leave out, each by itself, as plain as can be: medians in milliseconds."""
    packed = archive.read_bytes()
    model = _untarred(packed)
    return {
        "read": _median_ms(archive.read_bytes, count),
        "untar": _median_ms(lambda: _untarred(packed), count),
        "load UBJ": _median_ms(lambda: xgboost.Booster().load_model(bytearray(model)), count),
    }


def _untarred(packed: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        (member,) = archive.getmembers()
        content = archive.extractfile(member)
        assert content is not None
        return content.read()


def _median_ms(act: Callable[[], object], count: int) -> float:
    taken = []
    for _ in range(count):
        began_s = time.perf_counter()
        act()
        taken.append(1000 * (time.perf_counter() - began_s))
    return median(taken)


def row(tier: str, others: int, calls: list[Call]) -> dict[str, Any]:
    """Percentiles of the whole, medians of the rest."""
    whole = [call.took_ms for call in calls]
    steps = dict.fromkeys(step for call in calls for step in call.steps_ms)
    told = {step: median(call.steps_ms.get(step, 0.0) for call in calls) for step in steps}
    used = {"processor": median(call.used_ms for call in calls)}
    spread = {"p50": percentile(whole, 50), "p95": percentile(whole, 95), "p99": percentile(whole, 99)}
    return {"from": tier, "others loaded": others, "calls": len(calls), **spread, **used, **told}


def run(others: tuple[int, ...], count: int) -> dict[str, Any]:
    with EndpointProcess() as process:
        folder = process.bucket_folder(BUCKET) / "models"
        folder.mkdir(parents=True)
        names = scene.make_models(folder, max(others) + count * len(others))
        process.until_ready()
        site = Site(process)
        crowd, rest = names[: max(others)], names[max(others) :]
        from_s3: list[dict[str, Any]] = []
        loaded = 0
        for number in others:
            site.load(crowd[loaded:number])
            mine, rest = rest[:count], rest[count:]
            from_s3.append(row("S3", number, site.cold(mine)))
            loaded = number
        from_disk: list[dict[str, Any]] = []
        measured = names[max(others) :]
        site.end_instance()
        loaded = 0
        for number in others:
            site.load(crowd[loaded:number])
            mine, measured = measured[:count], measured[count:]
            from_disk.append(row("disk", number, site.cold(mine)))
            loaded = number
        machine = {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
        return {"machine": machine, "floor_ms": floor(folder / names[0], count), "cold_ms": from_s3 + from_disk}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: few calls, figures that mean little")
    short = parser.parse_args().short
    results = run((2, 20) if short else (10, 1000), 5 if short else 60)
    console = Console(width=160)
    console.print(f"{results['machine']}")
    console.print(table("The floor: ms", [results["floor_ms"]]))
    console.print(table("First call to a model that is not in memory: ms, medians of its steps", results["cold_ms"]))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "cold.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
