"""Measures a restart of the endpoint on an existing data folder, to the first answer of an endpoint that slept."""

import http.client
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import scene
from benchmarks.crowds import percentile
from benchmarks.own_answers import make_models
from benchmarks.sleeping import BUCKET, Sleepers
from benchmarks.waking import HEADERS
from torpor.hosting.endpoint_process import ChildEndpoint, Start

MODELS = 1
WITHIN_S = 120.0


@dataclass(frozen=True)
class Restart:
    """From the start of the endpoint's process to the answer, and what all processes used until then."""

    restarts: int
    p50: float
    max: float
    processor: float


def restarts(count: int) -> list[Restart]:
    """Restarts, one after the other, each with one request that waits at the port from the beginning."""
    with _slept() as folder:
        taken = [_restart(folder) for _ in range(count)]
    whole, used = zip(*taken, strict=True)
    return [Restart(count, percentile(list(whole), 50), max(whole), percentile(list(used), 50))]


@contextmanager
def _slept() -> Iterator[Path]:
    """The data folder of an endpoint that has answered, and stopped while it slept."""
    folder = Path(tempfile.mkdtemp(prefix="torpor-"))
    try:
        with ChildEndpoint(Start(folder)) as process:
            sleeping = Sleepers(process.until_ready())
            make_models(process.bucket_folder(BUCKET) / "models", MODELS)
            sleeping.add("alone")
            _answer(sleeping.port)
            sleeping.until_asleep()
        yield folder
    finally:
        shutil.rmtree(folder)


def _restart(folder: Path) -> tuple[float, float]:
    began_s = time.perf_counter()
    with ChildEndpoint(Start(folder)) as process:
        _answer(int(process.url.rpartition(":")[2]))
        took_s = time.perf_counter() - began_s
        used_s = scene.cpu_s(scene.tree(process.pid))
    return 1000 * took_s, 1000 * used_s


def _answer(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WITHIN_S)
    try:
        connection.request("POST", "/endpoints/alone/invocations", scene.ROW, HEADERS)
        with connection.getresponse() as answer:
            said = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} {said!r}")
    finally:
        connection.close()
