"""What batches bring to models that cost much, and what a slow model costs the small ones beside it.

Before anything is measured, answers in batches are held against answers alone, byte by byte.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import xgboost
from sklearn.ensemble import RandomForestRegressor

import torpor
from benchmarks import client
from benchmarks.live import Live, Serve
from benchmarks.measure import (
    SETTLING,
    Figures,
    Target,
    WrongAnswer,
    agree,
    cpu_ratio,
    figures,
    rate_ratio,
    warm,
)
from benchmarks.own_answers import make_models, said
from benchmarks.scene import COLUMNS, ROW
from benchmarks.sizes import Sizes

BATCH_SIZE = 32
ALONE, BATCHES = "alone", "batches"
"""Two endpoints of one instance each."""
BOOSTER, FOREST = "booster.tar.gz", "forest.tar.gz"
SLOW_CALLERS = 16
"""An instance has two threads that predict."""
ROWS = 64


@dataclass(frozen=True)
class Beside:
    """One turn of the small models, and what the slow one answered meanwhile."""

    per_second: float
    p50_ms: float
    p99_ms: float
    slow_per_second: float


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    small = make_models(artifacts, sizes.small)
    costly = _make_costly(artifacts, sizes)
    with live() as running:
        running.link(artifacts)
        running.deploy(endpoint=ALONE, TORPOR_BATCH_SIZE=1)
        running.deploy(endpoint=BATCHES, TORPOR_BATCH_SIZE=BATCH_SIZE)
        found: list[Figures] = []
        for model, answer in costly.items():
            same_answers(running, model)
            found += _batches(running, {model: answer}, sizes)
        quick = running.through(f"{len(small)} small models", small, ALONE)
        slow = running.through(FOREST, {FOREST: costly[FOREST]}, ALONE)
        return found + _fairness(quick, slow, sizes)


def _make_costly(folder: Path, sizes: Sizes) -> dict[str, float]:
    """A large booster and a forest: what each says to `scene.ROW`."""
    random = np.random.default_rng(7)
    cells = random.normal(size=(2000, COLUMNS))
    label = cells @ random.normal(size=COLUMNS) + random.normal(scale=0.1, size=len(cells))
    booster = xgboost.train({"max_depth": 6, "nthread": 1}, xgboost.DMatrix(cells, label, nthread=1), sizes.trees)
    forest = RandomForestRegressor(sizes.forest, random_state=1).fit(cells, label)
    torpor.bundle(booster, folder / BOOSTER)
    torpor.bundle(forest, folder / FOREST)
    row = np.array(ROW.split(b","), np.float32).reshape(1, -1)
    return {BOOSTER: said(booster), FOREST: float(forest.predict(row)[0])}


# -- batches -----------------------------------------------------------------------------------------------------------
def same_answers(running: Live, model: str) -> None:
    """Many at once, so that there are batches. Raises WrongAnswer if one byte differs."""
    cells = np.random.default_rng(3).normal(size=(ROWS, COLUMNS))
    bodies = [",".join(map(str, row)).encode() for row in cells]
    alone, batches = (
        asyncio.run(
            client.together(running.address, [running.request(model, name, body) for body in bodies], SLOW_CALLERS)
        )
        for name in (ALONE, BATCHES)
    )
    if alone != batches or {status for status, _ in alone} != {200}:
        raise WrongAnswer(f"{model} answers otherwise in batches: {set(alone) ^ set(batches)}")


def _batches(running: Live, expected: Mapping[str, float], sizes: Sizes) -> list[Figures]:
    targets = [running.through(name, expected, name) for name in (ALONE, BATCHES)]
    agree(targets)
    found: list[Figures] = []
    for connections in sizes.costly_connections:
        turns = warm(targets, (), connections, sizes.costly_turn_s, sizes.rounds)
        found += [
            {
                "what": next(iter(expected)).partition(".")[0],
                "target": name,
                "connections": connections,
                **figures(seen),
                "rate_of_alone": rate_ratio(seen, turns[ALONE]),
                "cpu_of_alone": cpu_ratio(seen, turns[ALONE]),
            }
            for name, seen in turns.items()
        ]
    return found


# -- fairness ----------------------------------------------------------------------------------------------------------
def _fairness(small: Target, slow: Target, sizes: Sizes) -> list[Figures]:
    """Small models, one call after another: alone, and while a forest has more callers than threads, in turn."""
    agree([small, slow])
    seen: dict[str, list[Beside]] = {"alone": [], "beside a forest": []}
    for _ in range(sizes.rounds):
        seen["alone"].append(asyncio.run(_beside(small, None, sizes.costly_turn_s)))
        seen["beside a forest"].append(asyncio.run(_beside(small, slow, sizes.costly_turn_s)))
    return [
        {
            "what": small.name,
            "target": way,
            "connections": 1,
            "rounds": len(turns),
            "per_second": median(turn.per_second for turn in turns),
            "p50_ms": median(turn.p50_ms for turn in turns),
            "p99_ms": median(turn.p99_ms for turn in turns),
            "slow_per_second": median(turn.slow_per_second for turn in turns),
        }
        for way, turns in seen.items()
    ]


async def _beside(small: Target, slow: Target | None, turn_s: float) -> Beside:
    """The slow one's callers stand in line before the small ones are measured. Raises WrongAnswer."""
    settling_s = SETTLING * turn_s
    others = [client.run(slow.where, slow.requests, SLOW_CALLERS, settling_s + turn_s)] if slow else []
    measured, *noise = await asyncio.gather(_settled(small, settling_s, turn_s), *others)
    if failed := sum(one.failures for one in (measured, *noise)):
        raise WrongAnswer(f"{failed} requests failed")
    p50_ms, p99_ms = (1000 * measured.percentile(percent) for percent in (50, 99))
    return Beside(measured.per_second, p50_ms, p99_ms, sum(one.per_second for one in noise))


async def _settled(target: Target, settling_s: float, turn_s: float) -> client.Measured:
    """A turn, with a shorter one before it that is not measured."""
    await client.run(target.where, target.requests, 1, settling_s)
    return await client.run(target.where, target.requests, 1, turn_s)
