"""A live endpoint's own ledger, played again: the same counts of wakes, loads and hits, from the ledger alone."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.helpers.ledger_with_pages import NOON_S
from tests.helpers.thorough_values import thorough
from tests.sdk.helpers.live_on_virtual_time import VARIANT, lived
from tests.sdk.helpers.written_ledger import WrittenLedger
from torpor.simulator.engine.variant.variant_plan import Machine, VariantPlan
from torpor.simulator.scenario import OWN_BYTES
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import simulate
from torpor.workloads import LedgerFile, TraceRequest, recorded
from torpor.workloads.profile import ModelProfile
from torpor_container.core.residency import Decision
from torpor_endpoint.core.resource_records import Container, Serverless, Variant
from torpor_endpoint.core.scaling import size_range

MIB = 2**20
SLEEPS_AFTER_S = 5.0
MODELS = {
    f"m{number}": ModelProfile(f"m{number}", 190 * MIB, 1000, 0.02, 0.01, 0.05 + number / 100, 0.002, 0.01)
    for number in range(8)
}
ROOM = 5 * 190 * MIB


def bursts(seed: int, count: int) -> Iterator[TraceRequest]:
    """Some calls within seconds, and then quiet for longer than the variant stays awake."""
    rng, now_s = random.Random(seed), 0.0
    for _ in range(count):
        for _ in range(rng.randrange(3, 12)):
            yield TraceRequest(now_s, rng.choice(list(MODELS)))
            now_s += rng.uniform(0.2, 2.0)
        now_s += rng.uniform(SLEEPS_AFTER_S + 3.0, 15.0)


SLEEPY = Variant(
    VARIANT,
    "models",
    (Container("torpor", multi_model=True, environment={"TORPOR_IDLE_SECONDS": "5", "TORPOR_CONCURRENCY": "4"}),),
    instance_type="ml.m5.large",
    instances_min=0,
    instances_max=1,
)
SERVERLESS = replace(
    SLEEPY, instance_type=None, instances_min=None, instances_max=None, serverless=Serverless(1024, max_concurrency=4)
)
MACHINES = {
    "sleepy": (SLEEPY, Machine(ROOM, 10**9, threads=2, wake_s=0.05)),
    "serverless": (SERVERLESS, Machine(1024 * MIB - OWN_BYTES, 10**9, threads=1, wake_s=0.05)),
}


@dataclass(frozen=True)
class Counts:
    requests: int
    hits: int
    wakes: int
    loads: int


@dataclass(frozen=True)
class Happened:
    """What a live variant did, and the ledger that it wrote."""

    ledger: Path
    counts: Counts
    usd: float | None


def happened(folder: Path, kind: str, seed: int) -> Happened:
    variant, machine = MACHINES[kind]
    sizes, loaded = size_range(variant, 4), Counter[str]()
    ledger = WrittenLedger(folder)

    def decided(slot: str, decision: Decision) -> None:
        loaded[decision.action] += 1

    plan = VariantPlan(machine, 0, sizes, idle_s=SLEEPS_AFTER_S)
    told = lived(plan, MODELS, recorded(bursts(seed, 20)), decided, ledger, variant)
    ledger.written.flush()
    cold = sum(ledger.written.reading.cold_counts().values())
    ledger.written.now_s = NOON_S + 3600
    (bill,) = ledger.written.reading.costs(None, NOON_S, NOON_S + 3600).bills
    ledger.written.ledger.close()
    counts = Counts(len(told.answers), len(told.answers) - cold, len(told.spans), loaded["loaded"])
    return Happened(ledger.path, counts, bill.costs.usd)


def counts_of(result: SimulationResult) -> Counts:
    return Counts(result.requests, result.warm, result.wakes, result.loads)


@pytest.mark.parametrize("seed", [0, *thorough(1, 2)])
def test_a_variant_that_sleeps_after_seconds_is_played_again_with_the_same_counts(tmp_path: Path, seed: int) -> None:
    live = happened(tmp_path, "sleepy", seed)
    result = simulate(LedgerFile(live.ledger), memory_bytes=ROOM)
    assert counts_of(result) == live.counts
    assert result.scenario.name == "0-1 x ml.m5.large, LRU, sleeps after 5 s"
    assert not [note for note in result.assumed if "seconds of" in note or "set up" in note]


@pytest.mark.parametrize("seed", [0, *thorough(1)])
def test_a_serverless_variant_is_played_again_with_the_same_counts_and_the_same_bill(tmp_path: Path, seed: int) -> None:
    live = happened(tmp_path, "serverless", seed)
    result = simulate(LedgerFile(live.ledger), processors=4)
    assert counts_of(result) == live.counts
    assert result.scenario.name == "serverless 1,024 MB, at most 4 at once, LRU, sleeps after 5 s"
    assert result.cost().usd == pytest.approx(live.usd, rel=0.02)
    assert not result.scenario.on_aws


def test_the_ledger_of_an_earlier_version_loses_the_quiet_within_a_minute_and_says_so(tmp_path: Path) -> None:
    live = happened(tmp_path, "sleepy", 0)
    with closing(sqlite3.connect(live.ledger)) as earlier:
        earlier.execute("ALTER TABLE spans DROP COLUMN seconds")
        earlier.execute("DROP TABLE setups")
    result = simulate(LedgerFile(live.ledger), memory_bytes=ROOM, instances_min=0, idle_s=SLEEPS_AFTER_S)
    assert result.wakes < live.counts.wakes
    set_up, *_, unmarked = result.assumed
    assert set_up.startswith("how the variant was set up: always on, with Torpor's own settings")
    assert unmarked.startswith(f"the seconds of {live.counts.hits} warm requests: drawn in their minutes")


def test_the_serverless_ledger_of_an_earlier_version_is_still_billed_by_the_call(tmp_path: Path) -> None:
    live = happened(tmp_path, "serverless", 0)
    with closing(sqlite3.connect(live.ledger)) as earlier:
        earlier.execute("DROP TABLE setups")
    result = simulate(LedgerFile(live.ledger))
    assert result.scenario.serverless == Serverless(1024, 200)
    assert result.assumed[0].startswith("how the variant was set up: serverless, at most 200 at once, with Torpor's")
