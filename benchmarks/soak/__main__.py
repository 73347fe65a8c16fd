"""`python -m benchmarks.soak [--minutes 10] [--seed N] [--short]`: many small disturbances, and every answer checked.

Endpoints sleep and wake at random while models are added, overwritten and deleted in S3, instances and the warm parent
are killed, and endpoints are updated. It ends with 1 if an answer was wrong, a request lost, or anything left behind.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

from benchmarks.soak import report
from benchmarks.soak.leftovers import Leftovers, leaks, seen
from benchmarks.soak.stage import KINDS, Stage, stage
from benchmarks.soak.trouble import Killer, Librarian, Operator
from benchmarks.soak.truth import Truth
from benchmarks.soak.visitors import Visitors

RESULTS = Path(__file__).parent.parent / "results"
HALVES = ("in the middle", "at the end")
WARM_UP_S = 10.0


@dataclass(frozen=True)
class Soaked:
    """All that came of it."""

    seed: int
    took_s: float
    truth: Truth
    looks: list[Leftovers]
    exit_code: int
    left: list[int]  # processes, once it was told to stop

    @property
    def faults(self) -> list[str]:
        ends = [f"it ended with exit code {self.exit_code}"] if self.exit_code else []
        ends += [f"{len(self.left)} processes were left"] if self.left else []
        return [*self.truth.oddities, *leaks(self.looks), *ends]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument(
        "--seed", type=int, default=None, help="of what is tried; when it happens depends on the machine"
    )
    parser.add_argument("--short", action="store_true", help="the same as --minutes 0.5")
    told = parser.parse_args()
    seed = told.seed if told.seed is not None else random.randrange(10**6)
    console = Console(width=160)
    console.print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        soaked = soak(Path(folder), seed, 60.0 * (0.5 if told.short else told.minutes))
    report.show(console, soaked)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "soak.json").write_text(json.dumps(report.as_json(soaked), indent=1))
    sys.exit(bool(soaked.faults))


def soak(folder: Path, seed: int, lasts_s: float) -> Soaked:
    began_s = time.monotonic()
    truth = Truth({kind.name: kind.revalidates for kind in KINDS})
    with stage(folder) as on:
        looks = asyncio.run(_story(on, truth, seed, lasts_s))
        code = on.stop()
        return Soaked(seed, time.monotonic() - began_s, truth, looks, code, on.marked())


async def _story(on: Stage, truth: Truth, seed: int, lasts_s: float) -> list[Leftovers]:
    """A short while to warm up, and two halves; after each, everything sleeps and is looked at."""
    librarian = Librarian(on, truth, Random(f"{seed} librarian"))
    operator = Operator(on, truth, Random(f"{seed} operator"))
    killer = Killer(on, truth, Random(f"{seed} killer"))
    visitors = [Visitors(kind.name, on, truth, Random(f"{seed} {kind.name}")) for kind in KINDS]
    await librarian.fill()
    await operator.open()
    began_s = time.monotonic()

    async def look(when: str) -> Leftovers:
        await asyncio.gather(*(each.until_asleep() for each in visitors))
        return await asyncio.to_thread(seen, on, when, time.monotonic() - began_s)

    async def all_at_once(actors: list[Any], for_s: float) -> None:
        until_s = time.monotonic() + for_s
        runs: list[Coroutine[Any, Any, None]] = [actor.run(until_s) for actor in actors]
        await asyncio.gather(*runs)

    await all_at_once([librarian, *visitors], WARM_UP_S)
    looks = [await look("at the start")]
    for when in HALVES:
        await all_at_once([librarian, operator, killer, *visitors], lasts_s / len(HALVES))
        looks.append(await look(when))
    return looks


if __name__ == "__main__":
    main()
