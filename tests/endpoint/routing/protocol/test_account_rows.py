"""Rows on their way from a router to the control: none is lost while the control is away, and none counts twice."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.metrics import metrics
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.tally import merged
from torpor_account.storage.databases.database import DatabaseFault
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.ledger import arrival_moments, arrival_seconds
from torpor_endpoint.core.ledger_records import InvocationRecord, WarmRequests
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.ledger.choice_table import latest_choices
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.row_collecting import Ledger
from torpor_endpoint.routing.control.account_taker import AccountTaker
from torpor_endpoint.routing.router.reports.pending_accounts import LedgerRows, MeterRows, PendingAccounts
from torpor_endpoint.runtime.observing.meter import AlikeRequests, Concurrency, Meters

NOW_S = 1_700_000_000.0
CHOSEN = MadeChoices(NOW_S, "shop", "v", "digits", "min_accuracy=0.9", "m", 3, "it is the cheapest")
WARM = WarmRequests(NOW_S, "shop", "v", "m", "i-1", [0.1, 0.2], [0.05, 0.06], 10, 20, (NOW_S, NOW_S + 1))
COLD = InvocationRecord(NOW_S, "r", "shop", "v", "m", "i-1", 200, {"load": 1.0, "overhead": 0.5}, 1.5, 1, 2, None)
SAMPLES = AlikeRequests(2, 200, True, [0.1], [0.01], (), [Concurrency(3, 20, 0)])


class FailingFile(SqliteFile):
    """While `full`, no transaction begins."""

    full = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self.full:
            raise DatabaseFault("the disk is full")
        with super().transaction():
            yield


class Control:
    """A control's ledger and metrics, which may be killed and start again."""

    def __init__(self, path: Path) -> None:
        self.now_s = NOW_S
        self.database = FailingFile(path, LEDGER)
        self.ledger = Ledger(self.database, lambda: self.now_s)
        self.registry = MetricRegistry(lambda: self.now_s)
        self.taker = AccountTaker(self.ledger, Meters(self.registry))

    def take(self, router: str, accounts: PendingAccounts) -> int:
        """Take the router's batch as it comes over the wire, and write it. The number of the last one written."""
        batch = accounts.batch()
        assert batch is not None
        self.taker.take(router, json.loads(json.dumps(batch.json())))
        asyncio.run(self.ledger.flush())
        return self.ledger.written_batch(router)

    def dropped(self) -> float:
        """The copies of requests that were dropped, as the metrics have them."""
        return sum(one.total().sum for one in self.registry.find(name=metrics.SHADOW_COPIES_DROPPED.name))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.ledger.tables.database.rows(query)


def pending() -> PendingAccounts:
    """One cold request and two warm ones, in the ledger and in the metrics."""
    accounts = PendingAccounts()
    ledger, meters = LedgerRows(accounts), MeterRows(accounts)
    ledger.warmed(WARM)
    ledger.invoked(COLD)
    ledger.chosen(CHOSEN)
    meters.add("shop", "v", SAMPLES, NOW_S)
    meters.of("shop", "v").add_cold_start(1.0, NOW_S)
    meters.of("shop", "v").add_container("first", 200, 0.1, None, NOW_S)
    meters.of("shop", "v").add_stream(0.2, 0.1, False, NOW_S)
    meters.no_capacity("shop", "v", NOW_S)
    meters.dropped("shop", "v", NOW_S)
    meters.untraced("shop", "v", 2)
    meters.captured("shop", "v", 3, True)
    return accounts


def test_what_a_router_counts_is_in_the_controls_ledger_and_metrics(tmp_path: Path) -> None:
    control = Control(tmp_path / "ledger.sqlite")
    control.take("r-1", pending())
    assert control.rows("SELECT sum(requests), sum(cold) FROM minutes") == [(3, 1)]
    assert control.rows("SELECT endpoint, model, total_s FROM cold_starts") == [("shop", "m", 1.5)]
    assert latest_choices(control.database, "shop", "digits", 9) == [CHOSEN]
    counted = {series.key.name for series in control.registry.find()}
    expected = (
        metrics.INVOCATIONS,
        metrics.COLD_START_TIME,
        metrics.CONTAINER_INVOCATIONS,
        metrics.FIRST_CHUNK_LATENCY,
        metrics.NO_CAPACITY_INVOCATION_FAILURES,
        metrics.SHADOW_COPIES_DROPPED,
        metrics.TRACES_DROPPED,
        metrics.DATA_CAPTURE_RECORDS,
        metrics.SERVERLESS_CONCURRENT_EXECUTIONS_UTILIZATION,
    )
    assert {metric.name for metric in expected} <= counted
    control.ledger.close()


@given(st.lists(st.lists(st.floats(1e-6, 10.0), min_size=1, max_size=12), min_size=1, max_size=6), st.booleans())
def test_requests_that_a_router_adds_up_count_as_if_the_control_had_served_them(
    groups: list[list[float]], cold: bool
) -> None:
    """Nothing is lost in between: sums, extremes and percentiles are the same."""
    accounts, served, reported = PendingAccounts(), Books(), Books()
    for at, times in enumerate(groups):
        seen = [Concurrency(1 + number % 3, 20, 2) for number, _ in enumerate(times)]
        half = [one / 2 for one in times]
        samples = AlikeRequests(2, 200, not cold, times, half, times if cold else (), seen, deployed_by="config")
        came = NOW_S + at, NOW_S + at + 0.5
        moments = arrival_seconds(came), arrival_moments(came)
        passed = {"first": times[0], "second": times[-1]}
        warm = WarmRequests(NOW_S, "shop", "v", "m", "i-1", times, half, 3, 4, came, passed, False, *moments)
        served.meters.add("shop", "v", samples, NOW_S)
        served.ledger.warmed(warm)
        MeterRows(accounts).add("shop", "v", samples, NOW_S)
        LedgerRows(accounts).warmed(warm)
    batch = accounts.batch()
    assert batch is not None
    assert len(batch.rows) == 2
    AccountTaker(reported.ledger, reported.meters).take("r-1", json.loads(json.dumps(batch.json())))
    assert reported.figures() == served.figures()
    assert reported.rows() == served.rows()


class Books:
    """The metrics and the ledger of one control, in memory."""

    def __init__(self) -> None:
        self.registry = MetricRegistry(lambda: NOW_S)
        self.meters = Meters(self.registry)
        self.ledger = Ledger(SqliteFile(":memory:", LEDGER), lambda: NOW_S)

    def figures(self) -> dict[str, tuple[Any, ...]]:
        """Count, rounded sum, extremes and the sketch of each series."""
        return {str(one.key): _figures(one.total(), one.buckets(0.0, 2 * NOW_S)) for one in self.registry.find()}

    def rows(self) -> list[tuple[Any, ...]]:
        asyncio.run(self.ledger.flush())
        read = self.ledger.tables.database.rows
        columns = "requests, round(total_s, 6), round(predict_s, 6), busy_ms, predict_ms, request_bytes, response_bytes"
        found = [*read(f"SELECT {columns} FROM minutes"), *read("SELECT * FROM spans")]
        found += read("SELECT container, position, requests, round(total_s, 6), warm FROM containers ORDER BY position")
        self.ledger.close()
        return [tuple(row) for row in found]


def _figures(total: Any, buckets: Any) -> tuple[Any, ...]:
    whole = merged(tally for _, tally in buckets)
    extremes = whole.minimum, whole.maximum
    return whole.count, round(whole.sum, 3), extremes, sorted(whole.items()), round(total.sum, 3)


def test_a_batch_that_comes_again_counts_once_also_after_a_restart_of_the_control(tmp_path: Path) -> None:
    accounts, control = pending(), Control(tmp_path / "ledger.sqlite")
    control.take("r-1", accounts)
    control.take("r-1", accounts)  # its answer was lost
    control.ledger.close()

    again = Control(tmp_path / "ledger.sqlite")
    accounts.taken(again.take("r-1", accounts))
    assert len(accounts) == 0
    LedgerRows(accounts).warmed(WARM)
    again.take("r-1", accounts)
    again.take("r-2", pending())
    assert again.rows("SELECT sum(requests) FROM minutes") == [(3 + 2 + 3,)]
    again.ledger.close()


def test_a_batch_that_the_ledger_lost_is_taken_when_it_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts, control = pending(), Control(tmp_path / "ledger.sqlite")
    control.database.full = True
    assert control.take("r-1", accounts) == 0
    monkeypatch.setattr("torpor_endpoint.ledger.writing.WAITING_ROWS_MAX", 0)
    control.ledger.served("shop", "v")
    assert control.take("r-1", accounts) == 0  # its rows are given up
    control.database.full = False
    assert control.take("r-1", accounts) == 0
    assert control.rows("SELECT count(*) FROM cold_starts") == [(0,)]

    for _ in range(2):
        accounts.taken(control.take("r-1", accounts))
        assert control.rows("SELECT sum(requests), sum(cold) FROM minutes") == [(3, 1)]
        accounts = accounts if len(accounts) else pending()  # the second time: a copy that was on its way
    assert control.dropped() == 1
    control.ledger.close()


def test_a_row_that_cannot_be_read_is_skipped_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    control = Control(tmp_path / "ledger.sqlite")
    good = ["dropped", "shop", "v", NOW_S]
    bad = [["invoked", 1, 2], ["of a later release", 1], [["no", "name"]], 7, ["no_capacity", "shop", "v", "no time"]]
    for number in (1, 1, 2):
        control.taker.take("r-1", {"number": number, "rows": [*bad, good]})
    assert control.dropped() == 2
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == [
        "invoked",
        "unknown",
        "no_capacity",
    ]
    assert "install the same release" in caplog.text
    control.ledger.close()


@pytest.mark.parametrize("batch", [{}, {"number": 1}, {"number": "one", "rows": []}, {"number": 1, "rows": 5}])
def test_what_is_no_batch_is_refused_before_anything_is_counted(tmp_path: Path, batch: dict[str, Any]) -> None:
    control = Control(tmp_path / "ledger.sqlite")
    with pytest.raises((KeyError, TypeError, ValueError)):
        control.taker.take("r-1", batch)
    assert control.ledger.last_batch("r-1") == 0
    control.ledger.close()


def test_while_the_control_is_away_the_oldest_rows_beyond_the_bound_are_lost_and_counted() -> None:
    accounts = PendingAccounts(rows_max=5)
    for number in range(8):
        accounts.add("dropped", "shop", "v", number)
    assert (len(accounts), accounts.lost) == (5, 3)
    batch = accounts.batch()
    assert batch is not None
    assert [row[3] for row in batch.rows] == [3, 4, 5, 6, 7]


def test_what_is_added_up_waits_within_the_same_bound() -> None:
    accounts = PendingAccounts(rows_max=5)
    for number in range(8):
        LedgerRows(accounts).warmed(WARM._replace(model=f"m-{number}"))
    assert (len(accounts), accounts.lost) == (5, 3)


def test_rows_for_which_nobody_waits_are_not_urgent() -> None:
    accounts = PendingAccounts()
    LedgerRows(accounts).warmed(WARM)
    MeterRows(accounts).add("shop", "v", SAMPLES, NOW_S)
    assert (len(accounts), accounts.urgent) == (2, False)
    LedgerRows(accounts).invoked(COLD)
    assert accounts.urgent
