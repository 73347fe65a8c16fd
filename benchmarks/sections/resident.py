"""What a model costs in memory: resident, after it has left, and when it merely exists."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.bare import unpack
from benchmarks.live import BUCKET, PREFIX, Live, Serve
from benchmarks.measure import Figures
from benchmarks.memory import own_mib, rss_mib
from benchmarks.own_answers import make_models
from benchmarks.prefixes import link_many, names
from benchmarks.sizes import Sizes
from torpor.hosting.endpoint_process import ChildEndpoint, Start

KIB = 1024
POLL_S = 0.5


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    (model,) = make_models(folder, 1)
    artifact = folder / model
    bare_kib = in_bare_process(unpack(artifact, folder / "bare"), sizes.resident)["kib_each"]
    with live() as torpor:
        resident = list(_resident(torpor, artifact, bare_kib, sizes))
    return [*resident, *_existing(artifact, folder, sizes)]


def _row(what: str, models: int, value: float, unit: str) -> Figures:
    return {"what": what, "models": models, "value": value, "unit": unit}


# -- resident ----------------------------------------------------------------------------------------------------------
def _resident(torpor: Live, artifact: Path, bare_kib: float, sizes: Sizes) -> Iterator[Figures]:
    """By the kernel's account, pages that belong to the process alone; not by the instance's own."""
    yield _row("a booster in a bare process", sizes.resident, bare_kib, "KiB each")
    registered = names("model", sizes.registered)
    link_many(artifact, torpor.folder, registered)
    torpor.deploy(TORPOR_MEMORY_MIB=8192, TORPOR_MODEL_IDLE_SECONDS=sizes.model_idle_s)
    torpor.load(registered[:1])
    first_mib, endpoint_mib = own_mib(torpor.instances()), own_mib(torpor.own())
    began_s = time.monotonic()
    torpor.load(registered[: sizes.resident])
    took_s = time.monotonic() - began_s
    resident, full_mib = torpor.resident(), own_mib(torpor.instances())
    if resident < 2:
        raise RuntimeError(f"{resident} of {sizes.resident} models are in memory: they left before all were loaded")
    each_kib = KIB * (full_mib - first_mib) / (resident - 1)
    yield _row(f"resident in one instance, of {sizes.registered:,} in S3", resident, each_kib, "KiB each")
    yield _row("beside the booster in a bare process", resident, each_kib / bare_kib, "times")
    yield _row("the endpoint's own memory grew by", resident, own_mib(torpor.own()) - endpoint_mib, "MiB")
    yield _row("loaded, four callers", sizes.resident, (sizes.resident - 1) / took_s, "models/s")
    left_mib = _after_unloading(torpor, sizes)
    back = 100 * (full_mib - left_mib) / (full_mib - first_mib)
    yield _row("given back once all have left", resident, back, "%")


def _after_unloading(torpor: Live, sizes: Sizes) -> float:
    """What the instance holds after a time without calls, when its memory falls no more."""
    deadline_s = time.monotonic() + 2 * sizes.model_idle_s + 60
    before_mib, now_mib = float("inf"), own_mib(torpor.instances())
    while torpor.resident() or now_mib < before_mib:
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"there are still {torpor.resident()} models in memory")
        time.sleep(POLL_S)
        before_mib, now_mib = now_mib, own_mib(torpor.instances())
    return now_mib


def in_bare_process(model: Path, count: int) -> dict[str, float]:
    """See `benchmarks.boosters`."""
    command = [sys.executable, "-m", "benchmarks.boosters", str(model), str(count)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


# -- merely there ------------------------------------------------------------------------------------------------------
def _existing(artifact: Path, folder: Path, sizes: Sizes) -> Iterator[Figures]:
    """The same data folder with one model in it, and with very many: starts that take turns."""
    folders = {count: _data_folder(artifact, folder, count) for count in sizes.existing}
    seen: dict[int, list[tuple[float, float]]] = {count: [] for count in folders}
    for _ in range(sizes.starts):
        for count, data in folders.items():
            seen[count].append(_start(data))
    for count, starts in seen.items():
        yield _row("start to healthy, models that exist", count, median(took_s for took_s, _ in starts), "s")
        yield _row("the endpoint once a model has answered", count, median(mib for _, mib in starts), "MiB resident")


def _data_folder(artifact: Path, folder: Path, count: int) -> Path:
    data = Path(tempfile.mkdtemp(dir=folder))
    link_many(artifact, data / "s3" / BUCKET / PREFIX, names("model", count))
    return data


def _start(data: Path) -> tuple[float, float]:
    began_s = time.perf_counter()
    with ChildEndpoint(Start(data)) as process:
        process.until_ready()
        took_s = time.perf_counter() - began_s
        torpor = Live(process)
        torpor.deploy()
        torpor.load(names("model", 1))
        return took_s, rss_mib(torpor.own())
