"""Rows on their way from a router to the control: none is lost while the control is away, and none counts twice."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from torpor_account.metrics import metrics
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.databases.database import DatabaseFault
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.ledger_records import InvocationRecord, WarmRequests
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.ledger.choice_table import latest_choices
from torpor_endpoint.ledger.row_collecting import Ledger
from torpor_endpoint.ledger.tables import LEDGER
from torpor_endpoint.routing.control.account_taker import AccountTaker
from torpor_endpoint.routing.router.pending_accounts import LedgerRows, MeterRows, PendingAccounts
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
