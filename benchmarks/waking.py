"""Measures a request to a sleeping endpoint, and the processes that run while it sleeps."""

import http.client
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from benchmarks import scene
from benchmarks.caller import steps_ms
from benchmarks.crowds import percentile
from benchmarks.sleeping import Sleepers, pss_mib, rss_mib

TARGET = "own-0.tar.gz"
HEADERS = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": TARGET}


@dataclass(frozen=True)
class Wake:
    """One: to its answer, of that in any processor of the endpoint, and what `Server-Timing` says."""

    took_ms: float
    used_ms: float
    steps_ms: dict[str, float]


@dataclass(frozen=True)
class Zero:
    """The processes that run while nothing calls."""

    what: str
    processes: int
    cpu_percent: float  # of one core
    rss_mib: float
    pss_mib: float  # a page that several share counts once


def wakes(sleeping: Sleepers, count: int) -> list[dict[str, Any]]:
    """One call at a time to an endpoint that sleeps: with two clients, with the zygote and without."""
    clients = {"http.client": _plain(sleeping), "boto3": _boto3(sleeping)}
    rows = []
    for zygote in (True, False):
        for name, call in clients.items():
            taken = [_wake(sleeping, call, zygote) for _ in range(count)]
            rows.append(_row({"client": name, "zygote": "there" if zygote else "gone"}, taken))
    return rows


def _wake(sleeping: Sleepers, call: Callable[[], str], zygote: bool) -> Wake:
    sleeping.until_asleep()
    if not zygote:
        sleeping.end_zygotes()
    used_s = scene.cpu_s(scene.tree(sleeping.process.pid))
    began_s = time.perf_counter()
    told = call()
    took_s = time.perf_counter() - began_s
    used_s = scene.cpu_s(scene.tree(sleeping.process.pid)) - used_s
    return Wake(1000 * took_s, 1000 * used_s, steps_ms(told))


def _plain(sleeping: Sleepers) -> Callable[[], str]:
    connection = http.client.HTTPConnection("127.0.0.1", sleeping.port, timeout=60)

    def call() -> str:
        connection.request("POST", "/endpoints/alone/invocations", scene.ROW, HEADERS)
        with connection.getresponse() as answer:
            told = answer.headers["server-timing"]
            said = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} {said!r}")
        return str(told)

    return call


def _boto3(sleeping: Sleepers) -> Callable[[], str]:
    runtime = sleeping.process.client("sagemaker-runtime")
    members = {"EndpointName": "alone", "TargetModel": TARGET, "ContentType": "text/csv", "Body": scene.ROW}
    return lambda: str(runtime.invoke_endpoint(**members)["ResponseMetadata"]["HTTPHeaders"]["server-timing"])


def _row(labels: dict[str, Any], taken: list[Wake]) -> dict[str, Any]:
    """Percentiles of the total, medians of the steps, and the mean processor time."""
    whole = [wake.took_ms for wake in taken]
    steps = {step: [wake.steps_ms.get(step, 0.0) for wake in taken] for wake in taken for step in wake.steps_ms}
    spread = {"wakes": len(taken), "p50": percentile(whole, 50), "p99": percentile(whole, 99), "max": max(whole)}
    used = {"processor": mean(wake.used_ms for wake in taken)}
    return {**labels, **spread, **used, **{step: median(seen) for step, seen in steps.items()}}


# -- without calls ----------------------------------------------------------------------------------------------------
def at_zero(sleeping: Sleepers, quiet_s: float) -> list[Zero]:
    """With the zygote that the last wake left, and once it is gone."""
    sleeping.until_asleep()
    with_it = _quiet("asleep, zygote there", sleeping, quiet_s)
    sleeping.end_zygotes()
    return [with_it, _quiet("asleep, zygote gone", sleeping, quiet_s)]


def _quiet(what: str, sleeping: Sleepers, quiet_s: float) -> Zero:
    pids = scene.tree(sleeping.process.pid)
    before_s = scene.cpu_s(pids)
    time.sleep(quiet_s)
    return Zero(what, len(pids), 100 * (scene.cpu_s(pids) - before_s) / quiet_s, rss_mib(pids), pss_mib(pids))
