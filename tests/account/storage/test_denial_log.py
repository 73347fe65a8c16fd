"""The latest denials are kept over a restart, in a database that does not grow without end."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.account.helpers.databases import OpenPart
from torpor_account.core.access.explaining.denial import Denial
from torpor_account.storage.databases.database import Database, DatabaseAway, OutcomeUnknown
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.denial_log import DENIALS, DenialLog

DENIED = Denial("ann", "s3:GetObject", "*", "message", "why", (), ())


def log_of(database: Database, kept: int = 3) -> DenialLog:
    return DenialLog(database, lambda: 7.0, kept)


def ids(log: DenialLog) -> list[str]:
    return [one.request_id for one in log.found()]


def test_a_denial_is_found_by_its_request_by_the_next_process(opened: OpenPart) -> None:
    log_of(opened(DENIALS)).add(DENIED, "r1")
    log = log_of(opened(DENIALS))
    (found,) = log.found("r1")
    assert (found.caller, found.request_id, found.at_s) == ("ann", "r1", 7.0)
    assert log.found("r2") == []


def test_the_oldest_give_way(opened: OpenPart) -> None:
    database = opened(DENIALS)
    log = log_of(database)
    for number in range(20):
        log.add(DENIED, f"r{number}")
    assert ids(log) == ids(log_of(database)) == ["r19", "r18", "r17"]
    assert [one.request_id for one in log.found(limit=1)] == ["r19"]
    assert database.rows("SELECT count(*) FROM denials") == [(3,)]


def test_a_row_that_another_version_wrote_is_left_out(opened: OpenPart, caplog: pytest.LogCaptureFixture) -> None:
    database = opened(DENIALS)
    log = log_of(database)
    log.add(DENIED, "r1")
    database.changed("INSERT INTO denials (digest, request_id, record) VALUES ('d', 'r2', '{}')")
    assert ids(log) == ["r1"]
    assert "cannot be read" in caplog.text


class AwayDatabase(SqliteFile):
    """Its transactions fail with `fault`, before they begin or after they are made."""

    fault: DatabaseAway | None = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self.fault is not None and not isinstance(self.fault, OutcomeUnknown):
            raise self.fault
        with super().transaction():
            yield
        if self.fault is not None:
            raise self.fault


@pytest.mark.parametrize("fault", [DatabaseAway("it does not answer"), OutcomeUnknown("it broke")])
def test_what_the_database_does_not_take_waits_for_the_next_denial(fault: DatabaseAway) -> None:
    database = AwayDatabase(":memory:", DENIALS)
    log = log_of(database)
    database.fault = fault
    log.add(DENIED, "r1")
    assert ids(log) == ["r1"]
    database.fault = None
    log.add(DENIED, "r2")
    assert ids(log) == ids(log_of(database)) == ["r2", "r1"]


def test_a_denial_that_waits_and_is_written_keeps_no_other_one_from_a_short_list() -> None:
    database = AwayDatabase(":memory:", DENIALS)
    log = log_of(database)
    for request_id in ("r1", "r2"):
        log.add(DENIED, request_id)
    database.fault = OutcomeUnknown("it broke")
    log.add(DENIED, "r3")
    assert [one.request_id for one in log.found(limit=2)] == ["r3", "r2"]
