"""A live endpoint's own ledger, played again: the same counts of wakes, loads and hits, from the ledger alone."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.helpers.live_on_virtual_time import lived
from tests.sdk.helpers.written_ledger import WrittenLedger
from torpor.simulator.engine.simulated_variant import Machine, VariantPlan
from torpor.simulator.simulation_run import simulate
from torpor.workloads import LedgerFile, TraceRequest, recorded
from torpor.workloads.profile import ModelProfile
from torpor_container.core.residency import Decision
from torpor_endpoint.core.scaling import InstanceRange

MIB = 2**20
SLEEPS_AFTER_S = 5.0
MODELS = {
    f"m{number}": ModelProfile(f"m{number}", 100 * MIB, 1000, 0.02, 0.01, 0.05 + number / 100, 0.002, 0.01)
    for number in range(8)
}
ROOM = 5 * 100 * MIB


def bursts(seed: int, count: int) -> Iterator[TraceRequest]:
    """Some calls within seconds, and then quiet for longer than the variant stays awake."""
    rng, now_s = random.Random(seed), 0.0
    for _ in range(count):
        for _ in range(rng.randrange(3, 12)):
            yield TraceRequest(now_s, rng.choice(list(MODELS)))
            now_s += rng.uniform(0.2, 2.0)
        now_s += rng.uniform(SLEEPS_AFTER_S + 3.0, 15.0)


@dataclass(frozen=True)
class Counts:
    requests: int
    hits: int
    wakes: int
    loads: int


def written(folder: Path, seed: int) -> tuple[Path, Counts]:
    """The ledger that a variant writes which sleeps after seconds, and what really happened."""
    machine = Machine(ROOM, 10**9, threads=2, wake_s=0.05)
    plan, loaded = VariantPlan(machine, 0, InstanceRange(0, 1, 4), idle_s=SLEEPS_AFTER_S), Counter[str]()
    ledger = WrittenLedger(folder)

    def decided(slot: str, decision: Decision) -> None:
        loaded[decision.action] += 1

    told = lived(plan, MODELS, recorded(bursts(seed, 20)), decided, ledger)
    ledger.written.flush()
    cold = sum(ledger.written.reading.cold_counts().values())
    ledger.written.ledger.close()
    return ledger.path, Counts(len(told.answers), len(told.answers) - cold, len(told.spans), loaded["loaded"])


def played_again(ledger: Path) -> tuple[Counts, Sequence[str]]:
    """The counts by the ledger alone, and what was assumed."""
    changes: dict[str, Any] = {"memory_bytes": ROOM, "threads": 2, "idle_s": SLEEPS_AFTER_S}
    result = simulate(LedgerFile(ledger), instances_min=0, instances_max=1, **changes)
    return Counts(result.requests, result.warm, result.wakes, result.loads), result.assumed


@pytest.mark.parametrize("seed", range(3))
def test_a_variant_that_sleeps_after_seconds_is_played_again_with_the_same_counts(tmp_path: Path, seed: int) -> None:
    ledger, happened = written(tmp_path, seed)
    again, assumed = played_again(ledger)
    assert again == happened
    assert not [note for note in assumed if "seconds of" in note]


def test_the_ledger_of_an_earlier_version_loses_the_quiet_within_a_minute_and_says_so(tmp_path: Path) -> None:
    ledger, happened = written(tmp_path, 0)
    with closing(sqlite3.connect(ledger)) as earlier:
        earlier.execute("ALTER TABLE spans DROP COLUMN seconds")
    again, assumed = played_again(ledger)
    assert again.wakes < happened.wakes
    (note,) = [note for note in assumed if "seconds of" in note]
    assert note.startswith(f"the seconds of {happened.hits} warm requests: drawn in their minutes")
