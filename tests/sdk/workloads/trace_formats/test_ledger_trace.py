"""An endpoint's own ledger as a trace; the tests write it with the endpoint's own tables."""

import time
from collections import Counter
from pathlib import Path

import pytest

from torpor.workloads import BadTrace, LedgerFile, named, read, requests
from torpor.workloads.trace import CHUNK_REQUESTS
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger import Sums, UseKey, is_cold, minute_of
from torpor_endpoint.core.ledger_records import InstanceLife, InvocationRecord
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.row_batch import Batch
from torpor_endpoint.ledger.tables import Tables

SINCE_S = 1_700_000_040.0
"""A whole minute that is over."""


def invocation(
    at_s: float, model: str, load_s: float = 0.0, size: int = 100, endpoint: str = "e", status: int = 200
) -> InvocationRecord:
    steps: dict[str, float] = {WaitStep.LOAD: load_s, WaitStep.PREDICT: 0.01}
    return InvocationRecord(SINCE_S + at_s, "r", endpoint, "v", model, "i", status, steps, load_s + 0.01, size, 5, None)


def ledger(folder: Path, *invocations: InvocationRecord, whole: int = 100) -> Path:
    """Adds all of them to their minutes; of the cold ones only the latest are kept whole."""
    batch = Batch()
    for one in invocations:
        kind = UseKey(minute_of(one.at_s), one.endpoint, one.variant, one.model, "ml.c5.large")
        batch.minutes.setdefault(kind, Sums()).add(one, is_cold(one.steps))
    batch.cold_starts = [one for one in invocations if is_cold(one.steps)][-whole:]
    tables = Tables(SqliteFile(folder / "ledger.sqlite", LEDGER))
    tables.write(batch, SINCE_S)
    tables.close()
    return folder / "ledger.sqlite"


def test_cold_starts_come_at_their_moment_and_warm_ones_in_their_minute(tmp_path: Path) -> None:
    path = ledger(
        tmp_path,
        invocation(3, "a", 0.5),
        invocation(4, "a"),
        invocation(9, "a"),
        invocation(70, "b", 0.1),
        invocation(80, "a"),
    )
    story = [(time_s - SINCE_S, model) for time_s, model in requests(read(path))]
    assert [time_s for time_s, _ in story] == sorted(time_s for time_s, _ in story)
    assert {(3.0, "a"), (70.0, "b")} <= set(story)
    assert Counter((time_s // 60, model) for time_s, model in story) == {(0, "a"): 3, (1, "a"): 1, (1, "b"): 1}


def test_a_pruned_cold_start_still_counts(tmp_path: Path) -> None:
    cold = [invocation(second, "a", 0.5) for second in range(10)]
    assert len(list(requests(read(ledger(tmp_path, *cold, whole=4))))) == 10


def test_bytes_of_the_requests_add_up_to_those_of_the_minute(tmp_path: Path) -> None:
    path = ledger(
        tmp_path, invocation(1, "a", 0.5, size=1_000), invocation(2, "a", size=10), invocation(3, "a", size=30)
    )
    (chunk,) = read(path).chunks()
    assert chunk.request_bytes is not None
    assert sorted(chunk.request_bytes.tolist()) == [20, 20, 1_000]


def test_a_name_that_was_only_ever_an_error_is_no_model(tmp_path: Path) -> None:
    typos = [invocation(65 + number, f"typo-{number % 2}", 0.1 * (number % 2), status=400) for number in range(3)]
    path = ledger(tmp_path, invocation(3, "a", 0.5), *typos, invocation(150, "a", status=500), invocation(151, "a"))
    trace = LedgerFile(path)
    assert [request.model for request in requests(trace)] == ["a", "a", "a"]
    assert trace.names == ["a"]
    assert trace.refused == {"typo-0": 2, "typo-1": 1}
    answered_late = ledger(tmp_path, invocation(210, "typo-1"))
    assert LedgerFile(answered_late, until_s=SINCE_S + 180).refused == trace.refused
    assert LedgerFile(answered_late).refused == {"typo-0": 2}


def test_a_ledger_with_only_errors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadTrace, match=r"ledger\.sqlite: every request to e/v was an error"):
        list(LedgerFile(ledger(tmp_path, invocation(1, "a", status=400), invocation(2, "b", status=500))).chunks())


def test_a_ledger_is_read_for_the_named_endpoint_and_a_seed_gives_one_trace(tmp_path: Path) -> None:
    path = ledger(tmp_path, invocation(1, "a"), invocation(2, "", endpoint="single"))
    with pytest.raises(BadTrace, match="has several variants: name one of e/v, single/v, as in"):
        list(LedgerFile(path).chunks())
    assert [request.model for request in requests(LedgerFile(path, "single"))] == ["v"]
    assert list(requests(LedgerFile(path, "e", seed=1))) == list(requests(LedgerFile(path, "e", "v", seed=1)))
    assert list(requests(LedgerFile(path, "e", seed=1))) != list(requests(LedgerFile(path, "e", seed=2)))


def test_a_ledger_lasts_as_long_as_its_variant_was_served(tmp_path: Path) -> None:
    path = ledger(tmp_path, invocation(100, "a"), invocation(200, "a"))
    assert read(path).lasts_s is None
    tables = Tables(SqliteFile(path, LEDGER))
    lives = {
        "i": InstanceLife(
            "e", "v", "i", 0, "ml.c5.large", "deployed", SINCE_S, SINCE_S + 1, "nobody calls", SINCE_S + 300
        )
    }
    tables.write(Batch(lives=lives), SINCE_S)
    assert read(path).lasts_s == 300.0
    tables.write(Batch(served={("e", "v"): SINCE_S + 36_000}), SINCE_S)
    tables.close()
    assert read(path).lasts_s == 36_000.0
    assert LedgerFile(path, until_s=SINCE_S + 240).lasts_s == 240.0


def test_a_ledger_is_read_while_the_endpoint_writes_it(tmp_path: Path) -> None:
    path = ledger(tmp_path, invocation(1, "a"))
    writing = Tables(SqliteFile(path, LEDGER))
    assert len(list(requests(LedgerFile(path)))) == 1
    writing.close()


def test_past_minutes_stay_the_same_trace_while_the_endpoint_runs(tmp_path: Path) -> None:
    path = ledger(tmp_path, invocation(1, "a"), invocation(2, "b", 0.5))
    trace = LedgerFile(path, until_s=SINCE_S + 60)
    before = list(requests(trace))
    ledger(tmp_path, invocation(61, "a"), invocation(62, "new", 0.5), invocation(63, "a", endpoint="another"))
    assert list(requests(trace)) == before
    assert trace.names == ["b", "a"]
    assert {request.model for request in requests(LedgerFile(path, "e"))} == {"a", "b", "new"}


def test_a_ledger_that_is_opened_by_its_name_ends_with_the_last_minute_that_is_over(tmp_path: Path) -> None:
    path = ledger(tmp_path, invocation(time.time() - SINCE_S + 60, "a"))  # the endpoint's clock may be ahead
    with pytest.raises(BadTrace, match="no requests to any endpoint in a minute that is over: call it, and wait until"):
        list(read(path).chunks())
    ledger(tmp_path, invocation(1, "b"))
    for trace in (read(path), named(f"{path}#e/v")):
        assert [request.model for request in requests(trace)] == ["b"]


def test_rows_written_between_two_chunks_are_read_and_the_endpoints_log_is_not_held(tmp_path: Path) -> None:
    def written(tables: Tables, minute: int) -> None:
        kind = UseKey(minute_of(SINCE_S) + 60 * minute, "e", "v", "a", "ml.c5.large")
        tables.write(Batch(minutes={kind: Sums(requests=CHUNK_REQUESTS)}), SINCE_S)

    tables = Tables(SqliteFile(tmp_path / "ledger.sqlite", LEDGER))
    for minute in (0, 1, 2):
        written(tables, minute)
    chunks = LedgerFile(tmp_path / "ledger.sqlite").chunks()
    assert len(next(chunks)) == CHUNK_REQUESTS
    written(tables, 3)
    [(busy, *_)] = tables.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    assert (busy, [len(chunk) for chunk in chunks]) == (0, [CHUNK_REQUESTS] * 3)
    tables.close()


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.sqlite").write_text("no database at all, and long enough to be seen as none " * 20)
    with pytest.raises(BadTrace, match=r"other\.sqlite cannot be read as a ledger"):
        list(read(tmp_path / "other.sqlite").chunks())
    with pytest.raises(BadTrace, match="cannot be read as a ledger"):
        list(read(tmp_path / "none.sqlite").chunks())
    with pytest.raises(BadTrace, match="has no requests to nobody"):
        list(LedgerFile(ledger(tmp_path, invocation(1, "a")), "nobody").chunks())
