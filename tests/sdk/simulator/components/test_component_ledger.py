"""A ledger of inference components, played again: the same counts of hits, wakes and starts, from the ledger alone."""

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.helpers.ledger_with_pages import NOON_S
from tests.helpers.thorough_values import thorough
from tests.sdk.helpers.live_components import Rescaled, copies_of, lived_components
from tests.sdk.helpers.live_on_virtual_time import ENDPOINT
from tests.sdk.helpers.written_ledger import WrittenLedger
from torpor.simulator.components.component_ledger import as_models, has_components, recorded_endpoint
from torpor.simulator.components.components_run import run_components
from torpor.simulator.scenario import MIB
from torpor.workloads import TraceRequest
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.pricing.component_shares import UNRESERVED
from torpor_endpoint.core.resource_records import ScaleIn, ScaleInStrategy, Variant

NAMES = ("a", "b", "c")
PROFILES = {name: ModelProfile(name, 0, 0, predict_s=0.05 + number / 100) for number, name in enumerate(NAMES)}
FIXED = Variant("AllTraffic", "", (), instance_type="ml.m5.large", instance_count=2)
MANAGED = Variant(
    "AllTraffic",
    "",
    (),
    instance_type="ml.m5.large",
    instance_count=1,
    instances_min=0,
    instances_max=2,
    scale_in=ScaleIn(ScaleInStrategy.IDLE_RELEASE),
)


@dataclass(frozen=True)
class Counts:
    requests: int
    hits: int
    failed: int
    launches: int


def bursts(seed: int) -> Iterator[TraceRequest]:
    """Some calls within seconds, and then quiet for longer than a copy that was woken stays."""
    rng, now_s = random.Random(seed), 2.25
    for _ in range(12):
        for _ in range(rng.randrange(3, 12)):
            yield TraceRequest(now_s, rng.choice(NAMES))
            now_s += rng.uniform(0.3, 3.0)
        now_s += rng.uniform(40.0, 90.0)


def test_the_bill_of_a_ledger_and_its_parts_are_those_of_the_simulation(tmp_path: Path) -> None:
    ledger = WrittenLedger(tmp_path)
    copies = [copies_of(name, 1, 1024 * number) for number, name in enumerate(NAMES, 1)]
    lived_components(FIXED, copies, PROFILES, list(bursts(4)), ledger, tmp_path)
    ledger.written.flush()
    ledger.written.now_s = NOON_S + 3600
    bills = {bill.costs.variant: bill.costs for bill in ledger.written.reading.costs(None, NOON_S, NOON_S + 3600).bills}
    ledger.written.ledger.close()
    found = recorded_endpoint(tmp_path / "ledger.sqlite", ENDPOINT, so_far=False)
    again = run_components(found.inputs, found.scenario)
    live = bills["AllTraffic"]
    assert again.cost().usd == pytest.approx(live.usd, rel=0.01)
    parts = {one.component: one.share for one in live.components}
    assert parts[UNRESERVED] > 0
    assert {one.component: one.share for one in again.shares()} == pytest.approx(parts, rel=0.01)


def both(folder: Path, capacity: Variant, copies: list[Variant], seed: int, **story: object) -> tuple[Counts, Counts]:
    """What happened, and what the simulator makes of the ledger."""
    ledger = WrittenLedger(folder)
    lived = lived_components(capacity, copies, PROFILES, list(bursts(seed)), ledger, folder, **story)  # type: ignore[arg-type]
    ledger.written.flush()
    cold = sum(ledger.written.reading.cold_counts().values())
    ledger.written.ledger.close()
    failed = sum(one.failed for one in lived.answers)
    live = Counts(len(lived.answers), len(lived.answers) - cold - failed, failed, lived.launches)
    path = folder / "ledger.sqlite"
    assert has_components(path, None) == ENDPOINT
    found = recorded_endpoint(path, ENDPOINT, so_far=False)
    again = run_components(found.inputs, found.scenario)
    return live, Counts(again.requests, again.warm, again.failed, len(again.copy_lives))


@pytest.mark.parametrize("seed", [0, *thorough(1)])
def test_copies_that_sleep_are_played_again_with_the_same_counts(tmp_path: Path, seed: int) -> None:
    live, again = both(tmp_path, MANAGED, [copies_of(name, 0, 2048) for name in NAMES], seed)
    assert again == live
    assert live.launches > 12


def test_copies_that_stay_are_played_again_with_the_same_counts(tmp_path: Path) -> None:
    live, again = both(tmp_path, FIXED, [copies_of(name, number, 2048) for number, name in enumerate(NAMES, 1)], 5)
    assert again == live
    assert live == Counts(live.requests, live.requests, 0, 6)


def test_copies_that_a_caller_changes_come_and_go_at_the_recorded_times(tmp_path: Path) -> None:
    copies = [copies_of(name, 1, 2048) for name in NAMES]
    changes = [Rescaled(100.5, "a", 0), Rescaled(310.25, "a", 1), Rescaled(400.5, "b", 2)]
    live, again = both(tmp_path, MANAGED, copies, 7, changes=changes)
    assert again == live
    assert live.launches > 5  # requests woke component a meanwhile


def test_of_strict_components_the_answered_requests_are_played_again(tmp_path: Path) -> None:
    copies = [copies_of(name, 0, 1024, strict=True) for name in NAMES]
    changes = [Rescaled(30.5, "a", 1), Rescaled(200.5, "b", 1), Rescaled(300.5, "c", 2), Rescaled(400.5, "a", 0)]
    live, again = both(tmp_path, FIXED, copies, 2, changes=changes, strict=True)
    assert live.failed > 10  # the ledger does not have them
    assert again == Counts(live.requests - live.failed, live.hits, 0, live.launches)


MANY = {f"m{number}": ModelProfile(f"m{number}", 20_000, 20_000, load_s=0.2, predict_s=0.05) for number in range(8)}


@pytest.mark.parametrize("copies", [pytest.param(0, marks=pytest.mark.thorough), 2])
def test_a_component_of_many_models_beside_others_is_played_again_with_the_same_hits(
    tmp_path: Path, copies: int
) -> None:
    rng, calls = random.Random(copies), list(bursts(3))
    calls += [TraceRequest(3.0 + number * 1.7, f"many/m{rng.randrange(8)}") for number in range(400)]
    calls.sort(key=lambda one: one.time_s)
    ledger = WrittenLedger(tmp_path)
    setups = [*(copies_of(name, 1, 1024) for name in NAMES), copies_of("many", copies, 1024, multi_model=True)]
    lived = lived_components(FIXED, setups, {**PROFILES, **MANY}, calls, ledger, tmp_path, room_bytes=90_000)
    ledger.written.flush()
    cold = sum(ledger.written.reading.cold_counts().values())
    ledger.written.ledger.close()
    found = recorded_endpoint(tmp_path / "ledger.sqlite", ENDPOINT, so_far=False)
    (many,) = (one for one in found.scenario.components if one.models)
    assert (len(many.models), many.name) == (8, "many")
    bounded = replace(many, room_mib=90_000 / MIB, disk_mib=90_000 / MIB)  # the test's instances report no memory
    scenario = found.scenario.altered(
        components=tuple(bounded if one is many else one for one in found.scenario.components)
    )
    again = run_components(found.inputs, scenario)
    assert (again.requests, again.cold, again.failed) == (len(lived.answers), cold, 0)
    assert cold > 100
    assert len(again.copy_lives) == lived.launches
    planned = as_models(found)
    assert planned.profiles["many/m3"].memory_bytes == 20_000


COLOURS = {
    name: ModelProfile(name, 9_000, 9_000, 0.4, 0.0, 0.2, predict_s=0.05)
    for name in ("red", "green", "blue", "grey", "pink")
}


@pytest.mark.parametrize(("copies", "room_bytes"), [(1, 20_000), *thorough((0, 60_000), (2, 30_000))])
def test_adapters_are_played_again_with_the_same_loads(tmp_path: Path, copies: int, room_bytes: int) -> None:
    rng = random.Random(copies)
    calls = [
        TraceRequest(call.time_s, rng.choice([*COLOURS, "a"]) if call.model == "a" else call.model)
        for call in bursts(copies)
    ]
    ledger = WrittenLedger(tmp_path)
    setups = [copies_of("a", copies, 1024, adapters=tuple(COLOURS)), *(copies_of(name, 1, 1024) for name in "bc")]
    lived = lived_components(FIXED, setups, {**PROFILES, **COLOURS}, calls, ledger, tmp_path, room_bytes=room_bytes)
    ledger.written.flush()
    cold = sum(ledger.written.reading.cold_counts().values())
    ledger.written.ledger.close()
    found = recorded_endpoint(tmp_path / "ledger.sqlite", ENDPOINT, so_far=False)
    assert {(one.name, one.base) for one in found.scenario.adapters} == {(name, "a") for name in COLOURS}
    again = run_components(found.inputs, found.scenario)
    assert (again.requests, again.cold, again.failed) == (len(lived.answers), cold, 0)
    assert len(again.copy_lives) == lived.launches
    assert cold > 5
    uses = {one.component: one.loads for one in again.components}
    assert uses["a"] == lived.registered


@pytest.mark.thorough
def test_copies_that_start_again_after_the_endpoint_was_killed_are_no_further_ones(tmp_path: Path) -> None:
    both(tmp_path, FIXED, [copies_of(name, 2, 2048) for name in NAMES], 5)
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as ledger, ledger:
        columns = [name for _, name, *_ in ledger.execute("PRAGMA table_info(lives)")]
        later = {"instance": "instance || '-again'", "started_s": "started_s + 105", "ready_s": "ready_s + 105"}
        again = {**later, "why_stopped": "''", "stopped_s": "NULL"}
        read = ", ".join(again.get(name, name) for name in columns)
        ledger.execute(f"INSERT INTO lives SELECT {read} FROM lives WHERE placed_on <> ''")
        ledger.execute(
            "UPDATE lives SET why_stopped = 'the endpoint ended', stopped_s = started_s + 100"
            " WHERE placed_on <> '' AND instance NOT LIKE '%-again'"
        )
    found = recorded_endpoint(path, ENDPOINT, so_far=False)
    assert [one.copies for one in found.scenario.components] == [2, 2, 2]
    assert {change.copies for one in found.scenario.components for change in one.changes} == {2}


@pytest.mark.thorough
def test_a_component_that_is_first_called_in_the_present_minute_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both(tmp_path, FIXED, [copies_of(name, 1, 2048) for name in NAMES], 5)
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as ledger, ledger:
        for table, at in (("minutes", "minute_s"), ("spans", "minute_s"), ("cold_starts", "at_s")):
            ledger.execute(f"UPDATE {table} SET {at} = {at} + 36000 WHERE variant = 'component.c'")
    monkeypatch.setattr(time, "time", lambda: NOON_S + 18000.0)
    found = recorded_endpoint(path, ENDPOINT)
    assert [one.serves for one in found.scenario.components] == ["a", "b"]
    assert "component c: left out, as it has answered no request yet" in found.inputs.assumed
