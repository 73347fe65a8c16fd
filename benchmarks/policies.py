"""`python -m benchmarks.policies [--short]`: requests per second of each eviction policy alone, beside cachetools' LRU.

All play the same requests by Zipf's law over models of all sizes, and take turns within each round; medians of
processor time. The loop around them is part of what is measured. Nothing asserts a time.
"""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median

import cachetools
from rich.console import Console
from rich.table import Table

from benchmarks.command import command, keep
from benchmarks.policy_trace import Trace, replay, replay_knowing, zipf
from torpor_container.core.eviction import OFFLINE, POLICIES, Policy

SHARE = 0.1
REFERENCE = "cachetools LRU"


@dataclass(frozen=True)
class Row:
    """How fast one policy is, and how good on this trace."""

    policy: str
    per_second: float
    ratio: float  # to the reference
    hit_percent: float


Play = Callable[[Trace, int], int]
"""Plays a trace in so much room, and answers the hits."""


def players() -> dict[str, Play]:
    ours: dict[str, Play] = {name: partial(live, make) for name, make in POLICIES.items()}
    knowing: dict[str, Play] = {
        f"{name} (offline reference)": partial(replay_knowing, OFFLINE[name]) for name in OFFLINE
    }
    return {REFERENCE: cachetools_lru, **ours, **knowing}


def live(make: Callable[[], Policy], trace: Trace, room_bytes: int) -> int:
    return replay(make(), trace, room_bytes)


def cachetools_lru(trace: Trace, room_bytes: int) -> int:
    cache: cachetools.LRUCache[str, str] = cachetools.LRUCache(room_bytes, getsizeof=trace.sizes.__getitem__)
    hits = 0
    for name in trace.requests:
        if name in cache:
            hits += 1
            cache[name]
        elif trace.sizes[name] <= room_bytes:
            cache[name] = name
    return hits


def main() -> None:
    parser = command("policies", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: few requests, figures that mean little")
    wanted = parser.parse_args()
    requests, rounds = (20_000, 1) if wanted.short else (300_000, 5)
    rows = run(zipf(requests, models=1_000), requests, rounds)
    show(rows, requests, rounds)
    keep(wanted.results, "policies", [asdict(row) for row in rows])


def run(trace: Trace, requests: int, rounds: int) -> list[Row]:
    took_s: dict[str, list[float]] = {}
    hits: dict[str, int] = {}
    for _ in range(rounds):
        for name, play in players().items():
            began_s = time.process_time()
            hits[name] = play(trace, trace.room_bytes(SHARE))
            took_s.setdefault(name, []).append(time.process_time() - began_s)
    speeds = {name: requests / median(times) for name, times in took_s.items()}
    return [Row(name, speed, speed / speeds[REFERENCE], 100 * hits[name] / requests) for name, speed in speeds.items()]


def show(rows: list[Row], requests: int, rounds: int) -> None:
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    table = Table(title=f"{requests:,} requests, medians of {rounds} rounds, {machine}", title_justify="left")
    for head in asdict(rows[0]):
        table.add_column(head)
    for row in rows:
        table.add_row(row.policy, f"{row.per_second:,.0f}", f"{row.ratio:.2f}", f"{row.hit_percent:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
