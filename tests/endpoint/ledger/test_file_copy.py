"""A copy of the ledger has all that the ledger has, whatever database it is in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.account.helpers.databases import OpenPart
from tests.helpers.ledger_with_pages import ALWAYS_ON, FIRST_USE, NOON_S, LedgerWithPages, invocation, life
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.ledger_records import MemoryReading
from torpor_endpoint.ledger.file_copy import copied, copy
from torpor_endpoint.ledger.ledger_schema import LEDGER

COLD = {"download": 0.05, "load": 0.2, "predict": 0.002, "overhead": 0.001}


@pytest.fixture
def recorded(tmp_path: Path, opened: OpenPart) -> Iterator[LedgerWithPages]:
    """Traffic of two days, with a gap."""
    made = LedgerWithPages(tmp_path, opened=opened)
    made.ledger.set_up("houses", ALWAYS_ON)
    made.ledger.lived(life(NOON_S, NOON_S + 30.0))
    made.ledger.lived(life(instance="i-2", ready_s=None))
    for at_s in (NOON_S, NOON_S + 90.5, NOON_S + 2 * 86_400):
        made.ledger.invoked(invocation(at_s, COLD, cold=FIRST_USE, model="é/ö"))
        made.ledger.invoked(invocation(at_s + 1))
    made.ledger.looked(MemoryReading(NOON_S, "houses", "v", "ml.m5.large", 2**30, 2**20, False))
    made.flush()
    yield made
    made.ledger.close()


def test_every_row_of_every_table_is_in_the_copy(recorded: LedgerWithPages, tmp_path: Path) -> None:
    source = recorded.ledger.tables.database
    copy(source, tmp_path / "copy.sqlite")
    made = SqliteFile(tmp_path / "copy.sqlite", LEDGER)
    tables = [name for (name,) in made.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    filled = set()
    for table in tables:
        names = ", ".join(f'"{name}"' for (name,) in made.rows("SELECT name FROM pragma_table_info(?)", table))
        rows = made.rows(f"SELECT {names} FROM {table}")
        assert sorted(map(repr, rows)) == sorted(map(repr, source.rows(f"SELECT {names} FROM {table}"))), table
        filled |= {table} if rows else set()
    assert filled >= {"cold_starts", "minutes", "lives", "memory", "spans", "served", "setups", "heartbeat"}
    made.close()


def test_a_copy_for_a_question_is_gone_after_it(recorded: LedgerWithPages) -> None:
    with copied(recorded.ledger.tables.database) as path:
        assert path.exists()
    assert not path.parent.exists()
