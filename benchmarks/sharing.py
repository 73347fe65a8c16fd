"""`python -m benchmarks.sharing [--short]`: what batches bring, and what a slow model costs the others beside it.

It asserts nothing about time. Before anything is measured, answers in batches are held against answers alone.
"""

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import xgboost
from rich.console import Console
from sklearn.ensemble import RandomForestRegressor

import torpor
from benchmarks import client, measure, scene
from benchmarks.tables import table

RESULTS = Path(__file__).parent / "results" / "sharing.json"
BATCH_SIZE = 32
SMALL = 20
INSTANCE = "ml.m5.large"
"""Two threads predict."""


@dataclass(frozen=True)
class Setting:
    """How much of everything."""

    requests: int = 1500
    rounds: int = 5
    trees: int = 1000
    forest: int = 100
    slow_connections: int = 16


SHORT = Setting(requests=64, rounds=1, trees=50, forest=10, slow_connections=4)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sharing", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    setting = SHORT if parser.parse_args().short else Setting()
    with tempfile.TemporaryDirectory() as folder:
        results = run(setting, Path(folder))
    show(results)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1))


def run(setting: Setting, folder: Path) -> dict[str, Any]:
    models = folder / "models"
    make_models(models, setting)
    with ExitStack() as stack:
        alone, together = (stack.enter_context(endpoint(models, size)) for size in (1, BATCH_SIZE))
        same_answers(alone, together)
        batches = list(batching(setting, {"alone": alone, f"batches of {BATCH_SIZE}": together}))
        fairness = fair(setting, alone)
    machine = {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
    return {"machine": machine, "setting": asdict(setting), "batches": batches, "fairness": fairness}


def show(results: dict[str, Any]) -> None:
    console = Console(width=140)
    console.print(f"{results['machine']}, {results['setting']}")
    console.print(table("Batches: medians of the rounds, alternating", results["batches"]))
    console.print(table(f"{SMALL} small models, one connection, beside a slow one", results["fairness"]))


# -- the scene ---------------------------------------------------------------------------------------------------------
def make_models(folder: Path, setting: Setting) -> None:
    """A large booster, a forest, and small boosters."""
    folder.mkdir()
    random = np.random.default_rng(7)
    rows = random.normal(size=(2000, scene.COLUMNS))
    label = rows @ random.normal(size=scene.COLUMNS) + random.normal(scale=0.1, size=len(rows))
    booster = xgboost.train({"max_depth": 6, "nthread": 1}, xgboost.DMatrix(rows, label, nthread=1), setting.trees)
    torpor.bundle(booster, folder / "booster.tar.gz")
    torpor.bundle(RandomForestRegressor(setting.forest, random_state=1).fit(rows, label), folder / "forest.tar.gz")
    (folder / "small").mkdir()
    for name in scene.make_models(folder / "small", SMALL):
        assert (folder / "small" / name).exists()


@contextmanager
def endpoint(models: Path, batch_size: int) -> Iterator["torpor.Local"]:
    environment = {"TORPOR_BATCH_SIZE": str(batch_size)}
    with torpor.local(models, name=f"batch-{batch_size}", environment=environment, instance_type=INSTANCE) as running:
        yield running


def same_answers(alone: "torpor.Local", together: "torpor.Local") -> None:
    """Many at once, so that there are batches. Raises RuntimeError if one byte differs."""
    rows = [",".join(map(str, row)).encode() for row in np.random.default_rng(3).normal(size=(64, scene.COLUMNS))]
    for model in ("booster.tar.gz", "forest.tar.gz"):
        with ThreadPoolExecutor(16) as callers:
            told = [list(callers.map(partial(answer, on, model), rows)) for on in (alone, together)]
        if told[0] != told[1]:
            raise RuntimeError(f"{model} answers otherwise in batches")


def answer(on: "torpor.Local", model: str, row: bytes) -> bytes:
    body: bytes = on.invoke_raw(model, row, content_type="text/csv")["Body"].read()
    return body


# -- the measurements --------------------------------------------------------------------------------------------------
def batching(setting: Setting, endpoints: "dict[str, torpor.Local]") -> Iterator[dict[str, Any]]:
    for model in ("booster.tar.gz", "forest.tar.gz"):
        targets = [target(way, running, [model]) for way, running in endpoints.items()]
        for each in targets:  # not measured: connections and caches warm up
            measure.warm([each], (8,), setting.requests // 8, 1)
        for row in measure.warm(targets, (1, 32), setting.requests, setting.rounds):
            yield {"model": model.partition(".")[0], **asdict(row)}


def fair(setting: Setting, running: "torpor.Local") -> list[dict[str, Any]]:
    """Small models one call after another: alone, and while a forest has more callers than threads."""
    small = target("small", running, [f"small/model-{number}.tar.gz" for number in range(SMALL)])
    slow = target("slow", running, ["forest.tar.gz"])
    measure.warm([small, slow], (1,), setting.requests // 8, 1)
    seen: dict[str, list[tuple[float, float]]] = {"alone": [], "beside a saturated forest": []}
    for _ in range(setting.rounds):
        seen["alone"].append(asyncio.run(beside(small, None, setting)))
        seen["beside a saturated forest"].append(asyncio.run(beside(small, slow, setting)))
    return [
        {"small models": way, "p50_ms": median(p50 for p50, _ in runs), "p99_ms": median(p99 for _, p99 in runs)}
        for way, runs in seen.items()
    ]


async def beside(small: measure.Target, slow: measure.Target | None, setting: Setting) -> tuple[float, float]:
    """p50 and p99 in milliseconds. The slow ones call for as long as the small ones do."""
    noise = None
    if slow is not None:
        noise = asyncio.create_task(client.run(slow.where, slow.requests, setting.slow_connections, 10**6))
        await asyncio.sleep(0.5)  # until its callers stand in line
    measured = await client.run(small.where, small.requests, 1, setting.requests)
    if noise is not None:
        noise.cancel()
        await asyncio.gather(noise, return_exceptions=True)
    if measured.failures:
        raise RuntimeError(f"{measured.failures} requests failed")
    return 1000 * measured.percentile(50), 1000 * measured.percentile(99)


def target(name: str, running: "torpor.Local", models: list[str]) -> measure.Target:
    host, port = running.url.removeprefix("http://").split(":")
    path = f"/endpoints/{running.name}/invocations"
    requests = [client.request(path, {**measure.CSV, measure.TARGET: model}, scene.ROW) for model in models]
    return measure.Target(name, (host, int(port)), requests, lambda: scene.tree(running.pid))


if __name__ == "__main__":
    main()
