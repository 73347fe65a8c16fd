"""Each batch of the ledger is written once, whatever becomes of the answers of the database."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.endpoint.services.helpers.failing_machine import COMMIT, DATABASE, FailingDatabase, FailingMachine
from tests.helpers.ledger_with_pages import FIRST_USE, NOON_S, invocation, life
from tests.helpers.thorough_values import thorough
from torpor_account.storage.databases.database import DatabaseFault
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.ledger_records import InvocationRecord
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.row_batch import Batch
from torpor_endpoint.ledger.row_collecting import Ledger
from torpor_endpoint.ledger.tables import Tables
from torpor_endpoint.ledger.writing import BatchWriter

COLD = {"load": 0.2, "predict": 0.002, "overhead": 0.001}


class Unanswering(SqliteFile):
    """While `silent`, each transaction is made, and its answer is lost."""

    silent = False

    def __init__(self) -> None:
        super().__init__(":memory:", LEDGER)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with super().transaction():
            yield
        if self.silent:
            raise DatabaseFault("the connection broke")


class Away(SqliteFile):
    """Nothing can be written."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        raise DatabaseFault("the server is away")
        yield


def cold(at_s: float = NOON_S) -> InvocationRecord:
    return invocation(at_s, COLD, cold={**FIRST_USE, "own_bytes": 6, "budget_bytes": 40})


class Written:
    """A ledger, its clock, and the flush as its thread does it."""

    def __init__(self) -> None:
        self.now_s = NOON_S
        self.database = Unanswering()
        self.ledger = Ledger(self.database, lambda: self.now_s)

    def sums(self) -> list[tuple[int, int, int]]:
        rows = "SELECT (SELECT sum(requests) FROM minutes), (SELECT count(*) FROM cold_starts), sum(looks) FROM memory"
        return self.database.rows(rows)


async def flushed(written: Written, silent: bool) -> bool:
    written.database.silent = silent
    return await written.ledger.flush()


def test_rows_whose_commit_was_made_without_an_answer_count_once() -> None:
    written = Written()
    written.ledger.invoked(cold())
    assert not asyncio.run(flushed(written, silent=True))
    written.ledger.invoked(cold(NOON_S + 1))
    assert asyncio.run(flushed(written, silent=False))
    assert written.sums() == [(2, 2, 2)]
    written.ledger.close()


def test_a_ledger_that_opens_again_goes_on_with_the_numbers_of_its_batches() -> None:
    written = Written()
    for _ in range(3):
        written.ledger.invoked(cold())
        assert asyncio.run(flushed(written, silent=False))
        written.ledger = Ledger(written.database, lambda: NOON_S)
    assert written.sums() == [(3, 3, 3)]
    written.ledger.close()


def test_a_routers_batch_that_was_written_without_an_answer_does_not_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = Written()
    written.ledger.invoked(cold())
    written.ledger.batched("r-1", 1)
    assert not asyncio.run(flushed(written, silent=True))
    assert (written.ledger.last_batch("r-1"), written.ledger.written_batch("r-1")) == (1, 0)
    monkeypatch.setattr("torpor_endpoint.ledger.writing.WAITING_ROWS_MAX", 0)
    written.ledger.lived(life(written.now_s))
    assert not asyncio.run(flushed(written, silent=True))  # its rows are given up, though the database has them
    assert asyncio.run(flushed(written, silent=False))
    assert (written.ledger.last_batch("r-1"), written.ledger.written_batch("r-1")) == (1, 1)
    assert written.sums() == [(1, 1, 1)]
    written.ledger.close()


def test_a_router_that_reported_is_expected_by_the_next_life_of_the_control() -> None:
    written = Written()
    assert not written.ledger.had_routers
    written.ledger.met("r-1")
    assert asyncio.run(flushed(written, silent=False))
    again = Ledger(written.database, lambda: NOON_S)
    assert (again.had_routers, again.last_batch("r-1")) == (True, 0)
    again.close()


class CountedLate(Batch):
    """`meanwhile` runs while the rows that wait are counted."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    @property
    def rows(self) -> int:
        self.meanwhile()
        return super().rows


def test_rows_may_come_while_those_that_wait_are_counted() -> None:
    database = Away(":memory:", LEDGER)
    writer = BatchWriter(Tables(database))
    late = CountedLate()
    late.meanwhile = lambda: writer.add(Batch(), NOON_S)
    for batch in (late, Batch()):
        writer.add(batch, NOON_S)
    assert not writer.catch_up()
    database.close()


@pytest.mark.parametrize("begins", [0, *thorough(1, 2)])
@pytest.mark.parametrize("kind", [*thorough(DATABASE), COMMIT])
def test_each_row_is_written_once_whatever_step_the_database_fails(kind: str, begins: int) -> None:
    for first in range(begins, 60, 3):
        machine, file = FailingMachine(kind), SqliteFile(":memory:", LEDGER)
        ledger = Ledger(FailingDatabase(file, machine), lambda: NOON_S)
        machine.fail_next(first, 25)
        for _ in range(8):
            ledger.invoked(cold())
            ledger.invoked(invocation())
            ledger.lived(life())
            asyncio.run(ledger.flush())
        while not asyncio.run(ledger.flush()):
            continue
        read = "(SELECT sum(requests) FROM minutes), (SELECT count(*) FROM cold_starts), (SELECT count(*) FROM lives)"
        assert file.rows(f"SELECT {read}, (SELECT sum(looks) FROM memory)") == [(16, 8, 1, 8)], first
        assert machine.failed or machine.steps <= machine.away.start
        ledger.close()
