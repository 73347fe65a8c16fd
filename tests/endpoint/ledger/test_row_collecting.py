"""The ledger keeps its records across restarts, kills, full disks and its own bounds."""

import asyncio
import json
import logging
import resource
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.account.helpers.databases import OpenPart
from tests.helpers.counted_calls import calls_of
from tests.helpers.example_counts import tries
from tests.helpers.ledger_with_pages import ALWAYS_ON, FIRST_USE, NOON_S, LedgerWithPages, invocation, life
from tests.helpers.waiting import reached
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_container import wire
from torpor_container.typed_json import read
from torpor_container.wire import ColdLoad
from torpor_endpoint.core.ledger import COLD_STEPS, MOMENTS_MAX, Sums, arrival_moments, arrival_seconds, moments_ms
from torpor_endpoint.core.ledger_records import InvocationRecord, MemoryReading, WarmRequests
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.pricing.quotes import S3_GETS, S3_STORED
from torpor_endpoint.core.resource_records import Container, Serverless, Variant
from torpor_endpoint.core.routing.warm_sums import WarmSums
from torpor_endpoint.core.variant_setup import VariantSetup
from torpor_endpoint.core.versions.version_steps import StepKind, VersionStep
from torpor_endpoint.ledger.choice_table import latest_choices
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.row_collecting import CHOICES_PENDING_MAX, COLD_PENDING_MAX, Ledger
from torpor_endpoint.ledger.tables import ENDED, RETENTION, Retention, Tables, names

COLD = {"download": 0.05, "load": 0.2, "predict": 0.002, "overhead": 0.001}


@pytest.fixture
def recorded(tmp_path: Path, opened: OpenPart) -> Iterator[LedgerWithPages]:
    made = LedgerWithPages(tmp_path, opened=opened)
    yield made
    made.ledger.close()


ON_SQLITE = pytest.mark.parametrize("opened", ["sqlite"], indirect=True)
"""For files of earlier versions, which PostgreSQL does not have, and for tests of many thousand rows."""


def minutes(tables: Tables) -> list[tuple[int, str, str, int, int]]:
    return tables.database.rows("SELECT minute_s, model, size, requests, cold FROM minutes ORDER BY 1, 2, 3")


def lives(tables: Tables) -> list[tuple[str, str, float | None]]:
    return tables.database.rows("SELECT instance, why_stopped, stopped_s FROM lives ORDER BY 1")


def test_a_cold_start_is_kept_whole_and_a_warm_request_in_its_minute(recorded: LedgerWithPages) -> None:
    cold = invocation(NOON_S, COLD, cold=FIRST_USE)
    recorded.ledger.lived(life())
    for one in (cold, invocation(NOON_S + 59.9), invocation(NOON_S + 60), invocation(NOON_S + 60, model="b")):
        recorded.ledger.invoked(one)
    recorded.flush()
    assert recorded.reading.cold_starts() == [cold]
    noon, size = int(NOON_S), "ml.m5.large"
    assert minutes(recorded.ledger.tables) == [
        (noon, "a", size, 2, 1), (noon + 60, "a", size, 1, 0), (noon + 60, "b", size, 1, 0)
    ]  # fmt: skip


def test_a_minute_continues_after_it_was_written_and_after_a_restart(recorded: LedgerWithPages) -> None:
    for _ in range(2):
        recorded.ledger.lived(life())
        recorded.ledger.invoked(invocation())
        recorded.flush()
    recorded.ledger.close()
    recorded = recorded.again()
    recorded.ledger.lived(life())
    recorded.ledger.invoked(invocation())
    recorded.ledger.close()
    recorded = recorded.again()
    assert minutes(recorded.ledger.tables) == [(int(NOON_S), "a", "ml.m5.large", 3, 0)]
    recorded.ledger.close()


@settings(max_examples=tries(10), deadline=None)  # each on a file of its own
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.booleans(), st.booleans()), max_size=30))
def test_the_minutes_are_the_whole_traffic_whenever_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str, bool, bool]]
) -> None:
    recorded = LedgerWithPages(tmp_path_factory.mktemp("ledger"))
    for minute, model, cold, flush in rows:
        recorded.ledger.invoked(invocation(NOON_S + 60 * minute, COLD if cold else None, model=model))
        if flush:
            recorded.flush()
    recorded.flush()
    added = recorded.ledger.tables.database.rows(
        f"SELECT {', '.join(f'sum({name})' for name in names(Sums))} FROM minutes"
    )
    assert list(added[0][:2]) == ([len(rows), sum(row[2] for row in rows)] if rows else [None, None])
    assert len(recorded.reading.cold_starts()) == sum(row[2] for row in rows)
    recorded.ledger.close()


def test_the_size_of_an_instance_is_known_until_its_last_answers_are_in(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life(NOON_S - 100, NOON_S, size="serverless-2048"))
    recorded.flush()
    for instance in ("i-1", "i-never-heard-of", ""):
        recorded.ledger.invoked(invocation(instance=instance))
    recorded.flush()
    assert [row[2] for row in minutes(recorded.ledger.tables)] == ["", "serverless-2048", "unknown"]
    recorded.now_s += 61
    recorded.flush()
    recorded.ledger.invoked(invocation(NOON_S + 61))
    recorded.flush()
    assert minutes(recorded.ledger.tables)[-1][2] == "unknown"


def test_a_life_without_a_recorded_end_ended_when_the_endpoint_was_last_alive(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life(NOON_S - 100, NOON_S - 50, instance="i-0"))
    recorded.ledger.lived(life(NOON_S - 100))
    recorded.flush()
    recorded.now_s += 30  # it lives on, and nothing else happens
    recorded.flush()
    again = recorded.again()  # the first one never said good-bye
    again.now_s += 1000
    assert lives(again.ledger.tables) == [("i-0", "idle", NOON_S - 50), ("i-1", ENDED, NOON_S + 30)]
    again.ledger.close()


def test_at_zero_nothing_is_written(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life(NOON_S - 100, NOON_S))
    recorded.flush()
    recorded.now_s += 61
    recorded.flush()
    before = recorded.ledger.tables.database.changes
    recorded.now_s += 10
    recorded.flush()
    assert recorded.ledger.tables.database.changes == before


def served(recorded: LedgerWithPages) -> list[tuple[str, float, float]]:
    return recorded.ledger.tables.database.rows("SELECT endpoint, since_s, until_s FROM served")


def test_a_variant_is_served_from_its_first_life_until_it_is_gone(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life(NOON_S, NOON_S + 100))
    recorded.flush()
    assert served(recorded) == [("houses", NOON_S, NOON_S + 100)]
    recorded.now_s += 5000
    recorded.ledger.served("houses", "v")  # it sleeps
    recorded.flush()
    assert served(recorded) == [("houses", NOON_S, NOON_S + 5000)]
    recorded.ledger.tables.prune(Retention(kept_s=3000.0), recorded.now_s)
    assert served(recorded) == [("houses", NOON_S + 2000, NOON_S + 5000)]
    recorded.ledger.tables.prune(Retention(kept_s=3000.0), recorded.now_s + 3001)
    assert served(recorded) == []


BEFORE_PIPELINES = (
    "DROP TABLE faces",
    "DROP TABLE version_steps",
    "DROP TABLE choices",
    "ALTER TABLE spans DROP COLUMN moments",
    "ALTER TABLE minutes DROP COLUMN fetches",
    "ALTER TABLE minutes DROP COLUMN fetched_bytes",
    "DROP TABLE setups",
    "ALTER TABLE spans DROP COLUMN seconds",
    "ALTER TABLE heartbeat DROP COLUMN batch",
    "DROP TABLE router_batches",
    "DROP TABLE containers",
    *(
        f"ALTER TABLE {table} DROP COLUMN {column}"
        for table, column in (
            ("cold_starts", "container_s"),
            ("cold_starts", "shadow"),
            ("cold_starts", "face"),
            ("cold_starts", "choice"),
            ("minutes", "copies"),
            ("lives", "shadow"),
            ("lives", "changed_s"),
            *(("lives", column) for column in ("volume_gb", "placed_on")),
            *(("lives", f"reserved_{what}") for what in ("mib", "cores", "accelerators")),
        )
    ),
    "ALTER TABLE memory RENAME TO newer",
    """CREATE TABLE memory AS SELECT minute_s, endpoint, variant, size, budget_bytes, looks, own_bytes, short,
        short_own_bytes FROM newer""",
    "DROP TABLE newer",
)
"""These statements undo the latest steps of the schema."""


def as_of_before(recorded: LedgerWithPages, *undone: str) -> None:
    """The file as it was before these steps of its schema, and those that added columns."""
    efforts = [
        ("cold_starts", "effort"),
        ("cold_starts", "inference_id"),
        *(("minutes", column) for column in ("measured", "work_s", "delay_s")),
    ]
    added = (f"ALTER TABLE {table} DROP COLUMN {column}" for table, column in efforts)
    for statement in (*BEFORE_PIPELINES, *added, *undone):
        recorded.ledger.tables.database.rows(statement)


@ON_SQLITE
def test_an_older_ledger_takes_the_service_times_of_its_variants_from_their_lives(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life(NOON_S, NOON_S + 100))
    recorded.ledger.lived(life(NOON_S + 200, instance="i-2"))
    recorded.flush()
    as_of_before(recorded, "DROP TABLE served", "PRAGMA user_version = 2")
    again = recorded.again()
    assert served(again) == [("houses", NOON_S, NOON_S + 200)]
    again.ledger.close()


def test_the_latest_are_kept_and_the_oldest_go(tmp_path: Path, opened: OpenPart) -> None:
    recorded = LedgerWithPages(tmp_path, Retention(cold_starts=3, kept_s=600.0, minute_rows=4, lives=2), opened=opened)
    for number in range(8):
        at_s = NOON_S + 60 * number
        recorded.ledger.invoked(invocation(at_s, COLD, model=f"m{number}", instance=""))
        recorded.ledger.lived(life(at_s, at_s + 1, instance=f"i-{number}"))
    recorded.ledger.lived(life(NOON_S - 10**6, instance="i-open"))
    recorded.flush()
    recorded.ledger.tables.prune(recorded.retention, NOON_S)
    assert [one.model for one in recorded.reading.cold_starts()] == ["m5", "m6", "m7"]
    assert [row[1] for row in minutes(recorded.ledger.tables)] == ["m4", "m5", "m6", "m7"]
    assert [row[0] for row in lives(recorded.ledger.tables)] == ["i-6", "i-7", "i-open"]
    recorded.ledger.tables.prune(recorded.retention, NOON_S + 60 * 6 + 600)
    assert [row[1] for row in minutes(recorded.ledger.tables)] == ["m6", "m7"]
    assert [row[0] for row in lives(recorded.ledger.tables)] == ["i-6", "i-7", "i-open"]
    recorded.ledger.tables.prune(recorded.retention, NOON_S + 60 * 7 + 600)
    assert [row[0] for row in lives(recorded.ledger.tables)] == ["i-7", "i-open"]
    recorded.ledger.close()


@pytest.mark.parametrize("retention", [Retention(lives=5), Retention(minute_rows=5)])
def test_costs_begin_where_the_ledger_still_knows_both_lives_and_traffic(
    tmp_path: Path, opened: OpenPart, retention: Retention
) -> None:
    recorded = LedgerWithPages(tmp_path, retention, now_s=NOON_S + 600, opened=opened)
    for minute in range(10):
        began_s = NOON_S + 60 * minute
        recorded.ledger.invoked(invocation(began_s + 1))
        recorded.ledger.lived(life(began_s, began_s + 60, instance=f"i-{minute}"))
    recorded.flush()
    assert paid_s(recorded) == (NOON_S + 600 - recorded.retention.kept_s, 600.0)
    recorded.ledger.tables.prune(recorded.retention, recorded.now_s)
    recorded.ledger.tables.prune(recorded.retention, recorded.now_s)  # nothing more goes
    assert paid_s(recorded) == (NOON_S + 300, 300.0)
    again = recorded.again()
    assert paid_s(again) == (NOON_S + 300, 300.0)
    again.ledger.close()


def paid_s(recorded: LedgerWithPages) -> tuple[float, float]:
    """Where a statement of everything begins, and the seconds that its instances lived."""
    statement = recorded.reading.costs(None, 0.0, recorded.now_s)
    return statement.window.since_s, sum(part.instance_s for bill in statement.bills for part in bill.costs.sizes)


@ON_SQLITE
def test_an_instance_life_is_kept_for_as_long_as_its_traffic(recorded: LedgerWithPages) -> None:
    for wake in range(24_000):
        began_s = NOON_S + 60 * wake
        recorded.ledger.lived(life(began_s, began_s + 30, instance=f"i-{wake}"))
    recorded.now_s = NOON_S + 60 * 24_000
    recorded.flush()
    recorded.ledger.tables.prune(recorded.retention, recorded.now_s)
    assert paid_s(recorded) == (recorded.now_s - recorded.retention.kept_s, 30.0 * (14 * 24 * 60))


@pytest.mark.thorough
def test_an_older_ledger_that_may_have_pruned_lives_covers_only_the_lives_it_kept(tmp_path: Path) -> None:
    recorded = LedgerWithPages(tmp_path)
    for wake in range(10_000):
        recorded.ledger.lived(life(NOON_S - 20_000 + wake, NOON_S - 20_000 + wake + 1, instance=f"i-{wake}"))
    recorded.flush()
    as_of_before(
        recorded, "DROP INDEX lives_by_end", "DROP TABLE pruned", "DROP TABLE served", "PRAGMA user_version = 1"
    )
    recorded.ledger.close()
    again = recorded.again()
    assert paid_s(again)[0] == NOON_S - 19_999
    again.ledger.close()


@ON_SQLITE
def test_a_flood_of_cold_starts_is_bounded_and_counted(recorded: LedgerWithPages) -> None:
    for _ in range(COLD_PENDING_MAX + 5):
        recorded.ledger.invoked(invocation(steps=COLD, instance=""))
    recorded.flush()
    assert len(recorded.reading.cold_starts(limit=10**6)) == COLD_PENDING_MAX
    assert minutes(recorded.ledger.tables)[0][3:] == (COLD_PENDING_MAX + 5, COLD_PENDING_MAX + 5)


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow in the block: a write beyond its size fails, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


@ON_SQLITE
def test_a_full_disk_loses_nothing_however_long_it_stays_and_is_logged_once(
    recorded: LedgerWithPages, caplog: pytest.LogCaptureFixture
) -> None:
    recorded.ledger.lived(life())
    recorded.flush()
    with full_disk():
        for hour in range(5):
            recorded.now_s = NOON_S + hour * 3600
            for place in range(2):
                recorded.ledger.invoked(invocation(recorded.now_s, steps=None if place else {**COLD, "hold": 1.0}))
                recorded.ledger.lived(life(NOON_S, NOON_S + 5))
                assert not asyncio.run(recorded.ledger.flush())
        [outage] = caplog.messages
    recorded.ledger.invoked(invocation(recorded.now_s, steps=COLD))
    assert asyncio.run(recorded.ledger.flush())
    assert len(recorded.reading.cold_starts()) == 6
    assert sum(row[3] for row in minutes(recorded.ledger.tables)) == 11
    assert lives(recorded.ledger.tables) == [("i-1", "idle", NOON_S + 5)]
    assert "cannot be used" in outage
    assert [record.levelno for record in caplog.records[1:]] == [logging.WARNING]


@ON_SQLITE
def test_a_disk_that_stays_full_loses_the_oldest_rows_and_leaves_no_life_open(
    recorded: LedgerWithPages, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torpor_endpoint.ledger.writing.WAITING_ROWS_MAX", 7)
    monkeypatch.setattr("torpor_endpoint.ledger.writing.TOGETHER_ROWS_MAX", 0)
    recorded.ledger.lived(life())
    recorded.flush()
    with full_disk():
        for second in range(4):
            recorded.now_s = NOON_S + second
            recorded.ledger.invoked(invocation(recorded.now_s, COLD))
            recorded.ledger.lived(life(NOON_S, NOON_S + 5))
            assert not asyncio.run(recorded.ledger.flush())
    assert asyncio.run(recorded.ledger.flush())
    assert [one.at_s - NOON_S for one in recorded.reading.cold_starts()] == [2.0, 3.0]
    said = [record.getMessage() for record in caplog.records]
    assert [text.partition(" /")[0] for text in said] == [
        "the database",
        "rows of the ledger are lost until it can be written",
        "the database",
        "can write the ledger again; 6 of its rows are lost",
    ]
    assert lives(recorded.ledger.tables) == [("i-1", "idle", NOON_S + 5)]


def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "ledger.sqlite").write_text("this is no database " * 100)
    recorded = LedgerWithPages(tmp_path)
    recorded.ledger.invoked(invocation(steps=COLD))
    recorded.flush()
    assert len(recorded.reading.cold_starts()) == 1
    assert (tmp_path / "ledger.sqlite.broken").read_text().startswith("this is no database")
    assert "is damaged" in caplog.text
    recorded.ledger.close()


def test_the_chore_writes_in_the_background_and_may_be_stopped_at_any_time(tmp_path: Path) -> None:
    async def story() -> None:
        recorded = LedgerWithPages(tmp_path)
        chore = asyncio.create_task(recorded.ledger.run())
        recorded.ledger.invoked(invocation(steps=COLD))
        await reached(lambda: asyncio.to_thread(recorded.reading.cold_starts), look_s=0.05)
        recorded.ledger.invoked(invocation(steps=COLD))
        chore.cancel()
        await asyncio.gather(chore, return_exceptions=True)
        recorded.ledger.close()

    asyncio.run(story())
    with sqlite3.connect(tmp_path / "ledger.sqlite") as database:
        assert database.execute("SELECT count(*) FROM cold_starts").fetchone() == (2,)
    database.close()


def test_steps_that_do_not_add_up_are_kept_as_they_are_and_said_once(
    recorded: LedgerWithPages, caplog: pytest.LogCaptureFixture
) -> None:
    odd = invocation(steps=COLD)._replace(total_s=1.0)
    recorded.ledger.invoked(odd)
    recorded.ledger.invoked(odd)
    recorded.flush()
    assert recorded.reading.cold_starts() == [odd, odd]
    assert caplog.text.count("add up to 0.253000 s, but the request took 1.000000 s") == 1


def test_a_warm_invocation_costs_next_to_nothing(tmp_path: Path) -> None:
    ledger = Ledger(SqliteFile(tmp_path / "ledger.sqlite", LEDGER), lambda: NOON_S)
    told = [invocation(model=f"m{number % 10}") for number in range(2000)]

    def tell() -> None:
        for one in told:
            ledger.invoked(one)

    counted = calls_of(tell)
    assert counted / len(told) < 31
    ledger.close()


def test_the_seconds_of_warm_requests_are_kept_over_all_writes_of_their_minute(recorded: LedgerWithPages) -> None:
    warm = WarmRequests(NOON_S, "houses", "v", "a", "i-1", [0.1], [0.1], 1, 1, (NOON_S + 9, NOON_S + 9), seconds=1 << 9)
    recorded.ledger.invoked(invocation(NOON_S + 2.5))
    recorded.flush()
    recorded.ledger.warmed(warm)
    recorded.ledger.invoked(invocation(NOON_S + 59.9))
    recorded.ledger.invoked(invocation(NOON_S + 30.0, COLD))
    recorded.flush()
    spans = recorded.ledger.tables.database.rows("SELECT first_s, last_s, seconds FROM spans")
    assert spans == [(NOON_S + 2.5, NOON_S + 59.9, 1 << 2 | 1 << 9 | 1 << 59)]
    assert arrival_seconds([NOON_S + 2.5, NOON_S + 9, NOON_S + 9.1, NOON_S + 59.9]) == 1 << 2 | 1 << 9 | 1 << 59


def test_the_moments_of_the_first_warm_requests_of_a_minute_are_kept(recorded: LedgerWithPages) -> None:
    came_s = [NOON_S + 1.25 + number for number in range(40)]
    for at_s in came_s[:3]:
        recorded.ledger.invoked(invocation(at_s))
        recorded.flush()
    for since in range(3, 40, 10):
        some_s = came_s[since : since + 10]
        moments = arrival_moments(some_s)
        some = some_s[0], some_s[-1]
        told = WarmRequests(NOON_S, "houses", "v", "a", "i-1", [0.1], [0.1], 1, 1, some, moments=moments)
        recorded.ledger.warmed(told)
        recorded.flush()
    [(moments,)] = recorded.ledger.tables.database.rows("SELECT moments FROM spans")
    kept = [*came_s[:3], *came_s[5:13], *came_s[15:23], *came_s[25:33], *came_s[33:40]]  # the last eight of each ten
    assert [NOON_S + ms / 1000 for ms in moments_ms(moments)] == kept
    for number in range(60):
        recorded.ledger.invoked(invocation(NOON_S + 59 + number / 100))
        recorded.flush()
    [(moments,)] = recorded.ledger.tables.database.rows("SELECT moments FROM spans")
    assert len(moments_ms(moments)) == MOMENTS_MAX


def setups(recorded: LedgerWithPages) -> list[tuple[object, ...]]:
    rows = recorded.ledger.tables.database.rows("SELECT endpoint, variant, since_s, setup FROM setups ORDER BY 1, 2")
    return [(*one, read(VariantSetup, json.loads(setup))) for *one, setup in rows]


def test_a_variants_setup_is_kept_with_the_time_since_which_it_is_so(recorded: LedgerWithPages) -> None:
    private = Container("torpor", multi_model=True, environment={"TORPOR_POLICY": "GDSF", "PASSWORD": "secret"})
    held = Variant("v", "m", (private,), instance_type="ml.m5.large", instance_count=2)
    serverless = replace(held, instance_type=None, serverless=Serverless(2048, 5, 1))
    recorded.ledger.set_up("houses", held)
    recorded.flush()
    recorded.now_s += 60
    recorded.ledger.set_up("houses", replace(held))
    recorded.flush()
    first = VariantSetup(instances=2, settings={"TORPOR_POLICY": "GDSF"})
    assert setups(recorded) == [("houses", "v", NOON_S, first)]
    recorded.now_s += 60
    recorded.ledger.set_up("houses", serverless)
    recorded.flush()
    assert setups(recorded) == [("houses", "v", NOON_S + 120, replace(first, serverless=Serverless(2048, 5, 1)))]


def test_the_setup_of_a_variant_goes_with_its_time_of_service(recorded: LedgerWithPages) -> None:
    recorded.ledger.set_up("houses", ALWAYS_ON)
    recorded.ledger.set_up("flats", ALWAYS_ON)
    recorded.ledger.served("houses", "v")
    recorded.ledger.lived(life(endpoint="flats", instance="i-2"))
    recorded.flush()
    recorded.ledger.tables.prune(recorded.retention, NOON_S + 60)
    assert [endpoint for endpoint, *_ in setups(recorded)] == ["flats", "houses"]
    recorded.ledger.tables.prune(recorded.retention, NOON_S + recorded.retention.kept_s + 60)
    assert setups(recorded) == []


def test_every_cold_step_is_kept(recorded: LedgerWithPages) -> None:
    told = [invocation(steps={step.value: 0.2, "overhead": 0.001}) for step in sorted(COLD_STEPS)]
    for one in told:
        recorded.ledger.invoked(one)
    recorded.flush()
    kept: list[InvocationRecord] = recorded.reading.cold_starts()
    assert kept == told


# -- the room for models -----------------------------------------------------------------------------------------------
def memory(recorded: LedgerWithPages) -> list[tuple[object, ...]]:
    columns = "minute_s, size, budget_bytes, looks, own_bytes, short, short_own_bytes"
    return recorded.ledger.tables.database.rows(f"SELECT {columns} FROM memory ORDER BY minute_s")


def test_the_memory_of_an_instance_beside_its_models_is_kept_by_the_minute(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life())
    for number, victims in enumerate(([], ["b"])):
        cold = wire.ColdLoad(bytes=1, victims=victims, reason="", took_s=0.1, efforts={}, own_bytes=10 + number)
        cold["budget_bytes"] = 40
        recorded.ledger.invoked(invocation(NOON_S + number, COLD, cold=cold))
    recorded.flush()
    recorded.ledger.looked(MemoryReading(NOON_S + 30, "houses", "v", "i-1", 40, 6))
    recorded.ledger.looked(MemoryReading(NOON_S + 70, "houses", "v", "i-1", 40, 7))
    recorded.flush()
    assert memory(recorded) == [(NOON_S, "ml.m5.large", 40, 3, 27, 1, 11), (NOON_S + 60, "ml.m5.large", 40, 1, 7, 0, 0)]


def test_the_times_of_the_first_and_the_last_warm_request_of_a_minute_are_kept(recorded: LedgerWithPages) -> None:
    recorded.ledger.invoked(invocation(NOON_S + 5, COLD))
    recorded.ledger.invoked(invocation(NOON_S + 9))
    recorded.flush()
    recorded.ledger.warmed(
        WarmRequests(NOON_S, "houses", "v", "a", "i-1", [0.1, 0.1], [0.1, 0.1], 5, 5, (NOON_S + 7, NOON_S + 8))
    )
    recorded.flush()
    kept = recorded.ledger.tables.database.rows("SELECT minute_s, model, first_s, last_s FROM spans")
    assert kept == [(NOON_S, "a", NOON_S + 7, NOON_S + 9)]


@ON_SQLITE
def test_an_older_ledger_without_inference_ids_is_opened_and_continued(recorded: LedgerWithPages) -> None:
    recorded.ledger.invoked(invocation(NOON_S, COLD))
    recorded.flush()
    newer = "ALTER TABLE cold_starts DROP COLUMN inference_id"
    for statement in (*BEFORE_PIPELINES, newer, "PRAGMA user_version = 5"):
        recorded.ledger.tables.database.rows(statement)
    again = recorded.again()
    again.ledger.invoked(invocation(NOON_S + 1, COLD)._replace(inference_id="call 7"))
    again.flush()
    assert [one.inference_id for one in again.reading.cold_starts()] == ["", "call 7"]
    again.ledger.close()


@ON_SQLITE
def test_an_older_ledger_without_the_memory_table_is_opened_and_continued(recorded: LedgerWithPages) -> None:
    recorded.ledger.invoked(invocation())
    recorded.flush()
    newer = "ALTER TABLE cold_starts DROP COLUMN inference_id"
    for statement in (*BEFORE_PIPELINES, "DROP TABLE memory", "DROP TABLE spans", newer, "PRAGMA user_version = 4"):
        recorded.ledger.tables.database.rows(statement)
    again = recorded.again()
    again.ledger.looked(MemoryReading(NOON_S, "houses", "v", "", 40, 6))
    again.flush()
    assert memory(again) == [(NOON_S, "", 40, 1, 6, 0, 0)]
    assert again.ledger.tables.database.rows("SELECT sum(requests) FROM minutes") == [(1,)]
    again.ledger.close()


# -- pipelines and shadow variants -------------------------------------------------------------------------------------
def containers(recorded: LedgerWithPages) -> list[tuple[object, ...]]:
    columns = "minute_s, model, position, container, requests, total_s, warm, warm_s"
    return recorded.ledger.tables.database.rows(f"SELECT {columns} FROM containers ORDER BY 1, 2, 3")


def test_a_pipeline_has_the_time_in_each_container_with_its_cold_starts_and_by_the_minute(
    recorded: LedgerWithPages,
) -> None:
    passed = {"clean": 0.25, "a-model": 0.5}
    cold = invocation(NOON_S, COLD)._replace(container_s=passed)
    failed = invocation(NOON_S, status=500)._replace(container_s={"clean": 0.25})
    warm = [invocation(NOON_S + 1)._replace(container_s=passed), invocation(NOON_S + 2)]
    for one in (cold, failed, *warm):
        recorded.ledger.invoked(one)
    recorded.flush()
    recorded.ledger.warmed(
        WarmRequests(
            NOON_S, "houses", "v", "a", "i-1", [0.5, 1], [0.5, 1], 5, 5, container_s={"clean": 1, "a-model": 2}
        )
    )
    recorded.flush()
    assert recorded.reading.cold_starts() == [cold]
    assert list(recorded.reading.cold_starts()[0].container_s) == ["clean", "a-model"]  # in the order of the pipeline
    assert containers(recorded) == [
        (NOON_S, "a", 0, "clean", 5, 1.75, 3, 1.25), (NOON_S, "a", 1, "a-model", 4, 3.0, 3, 2.5)
    ]  # fmt: skip
    recorded.ledger.tables.prune(RETENTION, NOON_S + RETENTION.kept_s + 1)
    assert containers(recorded) == []


def test_each_container_of_a_pipeline_has_its_own_memory(recorded: LedgerWithPages) -> None:
    for container, own_bytes in (("clean", 6), ("a-model", 9), ("clean", 7)):
        reading = MemoryReading(NOON_S, "houses", "v", "i-1", 40, own_bytes, container=container)
        recorded.ledger.looked(reading)
    recorded.flush()
    kept = recorded.ledger.tables.database.rows("SELECT container, looks, own_bytes FROM memory ORDER BY 1")
    assert kept == [("a-model", 1, 9), ("clean", 2, 13)]


@ON_SQLITE
def test_an_older_ledger_without_pipelines_is_opened_and_continued(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life())
    recorded.ledger.invoked(invocation(NOON_S, COLD))
    recorded.ledger.looked(MemoryReading(NOON_S, "houses", "v", "i-1", 40, 6))
    recorded.flush()
    for statement in (*BEFORE_PIPELINES, "PRAGMA user_version = 6"):
        recorded.ledger.tables.database.rows(statement)
    again = recorded.again()
    again.ledger.lived(life())
    again.ledger.invoked(invocation(NOON_S + 1, COLD)._replace(container_s={"clean": 0.2}, shadow=True))
    again.ledger.looked(MemoryReading(NOON_S, "houses", "v", "i-1", 40, 7))
    again.flush()
    assert [(one.container_s, one.shadow) for one in again.reading.cold_starts()] == [
        ({}, False),
        ({"clean": 0.2}, True),
    ]
    assert memory(again) == [(NOON_S, "ml.m5.large", 40, 2, 13, 0, 0)]
    assert again.ledger.tables.database.rows("SELECT sum(requests), sum(copies) FROM minutes") == [(2, 1)]
    again.ledger.close()


def test_what_was_fetched_for_loads_is_counted_once_for_each_load(recorded: LedgerWithPages) -> None:
    fetched: ColdLoad = {**FIRST_USE, "took_s": 0.5, "fetched_bytes": 700}
    steps = {"download": 0.3, "load": 0.2, "predict": 0.01}
    recorded.ledger.lived(life(NOON_S - 100))
    recorded.ledger.invoked(invocation(NOON_S, steps, cold=fetched))
    joined: ColdLoad = {**FIRST_USE, "took_s": 0.5}  # it came while the load went on
    recorded.ledger.invoked(invocation(NOON_S, {"load": 0.1, "predict": 0.01}, cold=joined))
    recorded.ledger.invoked(invocation(NOON_S + 9, {"load": 0.5, "predict": 0.01}, cold={**FIRST_USE, "took_s": 0.5}))
    recorded.ledger.invoked(invocation(NOON_S, steps, model="b", cold={**fetched, "fetched_bytes": 1000}))
    recorded.flush()
    rows = recorded.ledger.tables.database.rows("SELECT sum(fetches), sum(fetched_bytes) FROM minutes")
    assert rows == [(2, 1700)]
    recorded.now_s = NOON_S + 3600
    (bill,) = recorded.reading.costs("houses", NOON_S, NOON_S + 3600).bills
    lines = {line.item: line.quantity for line in bill.costs.bill.lines}
    assert lines[S3_GETS] == 2
    assert lines[S3_STORED] == pytest.approx(1700 / 2**30 / 730)


def chosen(at_s: float = NOON_S, need: str = "latency_ms=20", why: str = "first", requests: int = 1) -> MadeChoices:
    return MadeChoices(at_s, "houses", "v", "digits", need, "a", requests, why)


def test_choices_of_a_minute_are_one_row_which_group_and_model_find(recorded: LedgerWithPages) -> None:
    recorded.ledger.chosen(chosen())
    recorded.ledger.invoked(invocation())
    recorded.flush()
    recorded.ledger.chosen(chosen(NOON_S + 1, why="later", requests=2))
    recorded.ledger.chosen(chosen(NOON_S + 2, why="latest", requests=3))
    recorded.ledger.chosen(chosen(NOON_S + 61, need="\udc80"))
    recorded.ledger.invoked(invocation())
    recorded.flush()
    database = recorded.ledger.tables.database
    minute = chosen(NOON_S + 2, why="latest", requests=6)
    assert latest_choices(database, "houses", "digits", 9) == [minute, chosen(NOON_S + 61, need="?")]
    assert latest_choices(database, "houses", "a", 1) == [chosen(NOON_S + 61, need="?")]
    assert latest_choices(database, "houses", "b", 9) == latest_choices(database, "other", "digits", 9) == []


def test_choices_have_bounds_in_a_second_and_on_disk(recorded: LedgerWithPages) -> None:
    for number in range(CHOICES_PENDING_MAX + 1):
        recorded.ledger.chosen(chosen(need=str(number)))
    recorded.ledger.chosen(chosen(need="0"))
    recorded.ledger.invoked(invocation())
    recorded.flush()
    recorded.ledger.chosen(chosen(NOON_S + 60))
    recorded.ledger.invoked(invocation())
    recorded.flush()
    tables = recorded.ledger.tables
    count = "SELECT count(*), sum(requests) FROM choices"
    assert tables.database.rows(count) == [(CHOICES_PENDING_MAX + 1, CHOICES_PENDING_MAX + 2)]
    tables.prune(Retention(choices=CHOICES_PENDING_MAX), NOON_S)
    assert tables.database.rows(count) == [(1, 1)]
    tables.prune(Retention(kept_s=10.0), NOON_S + 100)
    assert tables.database.rows(count) == [(0, None)]


def test_steps_of_versions_are_kept_with_the_time_at_which_they_began(recorded: LedgerWithPages) -> None:
    recorded.ledger.stepped(VersionStep("houses", "v", StepKind.BESIDE, "rose/2/m", "rose/1/m", ago_s=2.0))
    recorded.flush()  # nothing else is pending
    recorded.now_s += 60
    recorded.ledger.stepped(VersionStep("houses", "v", StepKind.GONE, "\udc80/1/m"))
    recorded.flush()
    tables, rows = recorded.ledger.tables, "SELECT at_s, kind, model, beside FROM version_steps ORDER BY at_s"
    later = (NOON_S + 60, "gone", "?/1/m", "")
    assert tables.database.rows(rows) == [(NOON_S - 2.0, "beside", "rose/2/m", "rose/1/m"), later]
    tables.prune(Retention(version_steps=1), NOON_S)
    assert tables.database.rows(rows) == [later]
    tables.prune(Retention(kept_s=10.0), NOON_S + 100)
    assert tables.database.rows(rows) == []


def test_what_came_by_other_protocols_is_a_part_of_its_variant(recorded: LedgerWithPages) -> None:
    ledger, warm = recorded.ledger, WarmRequests(NOON_S, "houses", "v", "a", "i-1", [0.1, 0.3], [0.1, 0.2], 5, 5)
    ledger.lived(life(NOON_S - 60))
    ledger.invoked(invocation(NOON_S, COLD, cold=FIRST_USE)._replace(face="grpc"))
    ledger.invoked(invocation(NOON_S, status=400)._replace(face="grpc"))
    ledger.warmed(warm._replace(face="open-inference"))
    ledger.summed(WarmSums.of(warm._replace(face="open-inference")))
    for own in (warm, warm._replace(endpoint="others")):
        ledger.warmed(own)
    recorded.flush()
    recorded.now_s = NOON_S + 3600
    found = {one.costs.endpoint: dict(one.faces) for one in recorded.reading.costs(None, 0.0, NOON_S + 3600).bills}
    assert found["others"] == {}  # nothing of it came by another protocol
    counts = {face: (one.requests, one.cold, one.errors) for face, one in found["houses"].items()}
    assert counts == {"sagemaker": (2, 0, 0), "grpc": (2, 1, 1), "open-inference": (4, 0, 0)}
    times = {face: (one.total_s, one.busy_s) for face, one in found["houses"].items()}
    assert times["open-inference"] == pytest.approx((0.8, 0.6))
    assert times["sagemaker"] == pytest.approx((0.4, 0.3))
    assert times["grpc"] == pytest.approx((0.256, 0.204))
    later = recorded.reading.costs("houses", NOON_S + 60, NOON_S + 3600).bills
    assert [one.faces for one in later] == [()]
