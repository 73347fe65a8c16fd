"""`python -m benchmarks.room [--short]`: how many models a memory holds, live and simulated from the live one's ledger.

One caller calls one model after another, by Zipf's law, of more models than the memory holds; then the simulator plays
the ledger of it, which is all that it is given. It writes `benchmarks/results/room.json`, and asserts nothing.
"""

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import torpor
from benchmarks import client
from benchmarks.command import command, keep
from benchmarks.fidelity.live import make_models
from benchmarks.live import NAME, Live
from benchmarks.tables import table
from torpor.hosting.endpoint_process import ChildEndpoint
from torpor.workloads import LedgerFile

MIB = 1024 * 1024


@dataclass(frozen=True)
class Budget:
    """An instance's memory, how many models are called, and how many times as large they are as the small ones."""

    memory_mib: int
    models: int
    larger: int = 1


BUDGETS = (Budget(40, 150), Budget(64, 120), Budget(512, 500, larger=4))
"""None of them holds all of its models."""
CALLS = 3000
SHORT_CALLS = 400
TREES = (20, 40, 60, 90, 140, 200)
"""Of small models, of 0.2 to 1.3 MiB in memory."""
WRITTEN_S = 2.5
"""The ledger is written once a second."""


@dataclass(frozen=True)
class Side:
    """`own_mib` is what the instance takes beside its models, when models have to leave."""

    hit_ratio: float
    loads: int
    own_mib: float


def calls(models: int, count: int) -> list[str]:
    """Their names, by Zipf's law with an exponent of 1."""
    weights = 1 / np.arange(1, models + 1)
    numbers = np.random.default_rng(models).choice(models, count, p=weights / weights.sum())
    return [_name(number) for number in numbers.tolist()]


def lived(budget: Budget, count: int, ledger: Path) -> Side:
    """The ledger is copied to that file."""
    with tempfile.TemporaryDirectory() as folder, ChildEndpoint() as process:
        live = Live(process.until_ready())
        trees = [budget.larger * one for one in TREES]
        make_models(Path(folder) / "models", [_name(number) for number in range(budget.models)], trees)
        live.link(Path(folder) / "models")
        live.deploy(TORPOR_MEMORY_MIB=budget.memory_mib)
        answers = asyncio.run(
            client.answers(live.address, [live.request(name) for name in calls(budget.models, count)])
        )
        if failed := [body for status, body in answers if status != 200]:
            raise RuntimeError(f"{len(failed)} calls failed: {failed[0]!r}")
        time.sleep(WRITTEN_S)
        (instance,) = live.seen(NAME)
        with closing(sqlite3.connect(process.data_dir / "ledger.sqlite")) as kept:
            (cold,) = kept.execute("SELECT sum(cold) FROM minutes").fetchone()
            (loads,) = kept.execute(
                "SELECT count(DISTINCT json_extract(cold, '$.took_s')) FROM cold_starts WHERE cold IS NOT NULL"
            ).fetchone()
            with closing(sqlite3.connect(ledger)) as copy:
                kept.backup(copy)
    own_bytes = instance["used_bytes"] - sum(model["size_bytes"] for model in instance["models"])
    return Side(1 - cold / count, loads, own_bytes / MIB)


def simulated(ledger: Path) -> Side:
    result = torpor.simulate(LedgerFile(ledger))
    return Side(result.hit_ratio, result.loads, result.scenario.own_bytes / MIB)


def rows(count: int) -> list[dict[str, Any]]:
    found = list[dict[str, Any]]()
    for budget in BUDGETS:
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "ledger.sqlite"
            there = lived(budget, count, ledger)
            here = simulated(ledger)
        found.append({**asdict(budget), "live": asdict(there), "simulated": asdict(here)})
    return found


def show(found: Sequence[dict[str, Any]]) -> None:
    told = [_told(row, side) for row in found for side in ("live", "simulated")]
    Console(width=120).print(table("The room for models", told))


def main() -> None:
    parser = command("room", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    wanted = parser.parse_args()
    count = SHORT_CALLS if wanted.short else CALLS
    before = os.getloadavg()[0]
    found = rows(count)
    show(found)
    keep(wanted.results, "room", {"load": [before, os.getloadavg()[0]], "calls": count, "budgets": found})


def _name(number: int) -> str:
    return f"model-{number:04}.tar.gz"


def _told(row: dict[str, Any], side: str) -> dict[str, Any]:
    one = row[side]
    by = {"memory, MiB": row["memory_mib"], "models": row["models"], "": side}
    figures = {"hits": f"{one['hit_ratio']:.2%}", "loads": one["loads"], "own, MiB": f"{one['own_mib']:.1f}"}
    return by | figures


if __name__ == "__main__":
    main()
