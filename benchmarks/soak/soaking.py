"""Runs one soak test, from an endpoint's start to its end: what disturbs it, for how long, and what is checked when."""

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.soak.killer import Killer
from benchmarks.soak.leftovers import Leftovers, leaks, seen
from benchmarks.soak.librarian import Librarian
from benchmarks.soak.operator import Operator
from benchmarks.soak.stage import KINDS, Stage, stage
from benchmarks.soak.truth import Truth
from benchmarks.soak.visitors import Night, Visitors

PARTS = ("after a quarter", "in the middle", "after three quarters", "at the end")
WARM_UP_S = 10.0


@dataclass(frozen=True)
class Soaked:
    """The results of a soak test."""

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


def soak(folder: Path, seed: int, lasts_s: float) -> Soaked:
    began_s = time.monotonic()
    truth = Truth({kind.name: kind.revalidates for kind in KINDS})
    with stage(folder) as on:
        looks = asyncio.run(_story(on, truth, seed, lasts_s))
        code = on.stop()
        return Soaked(seed, time.monotonic() - began_s, truth, looks, code, on.marked())


async def _story(on: Stage, truth: Truth, seed: int, lasts_s: float) -> list[Leftovers]:
    """A warm-up and four quarters; after each, everything sleeps and is checked for leaks."""
    librarian = Librarian(on, truth, Random(f"{seed} librarian"))
    operator = Operator(on, truth, Random(f"{seed} operator"))
    killer = Killer(on, truth, Random(f"{seed} killer"))
    night = Night(on, truth, Random(f"{seed} night"))
    visitors = [Visitors(kind.name, on, truth, Random(f"{seed} {kind.name}"), night) for kind in KINDS]
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
    for when in PARTS:
        await all_at_once([librarian, operator, killer, night, *visitors], lasts_s / len(PARTS))
        looks.append(await look(when))
    return looks
