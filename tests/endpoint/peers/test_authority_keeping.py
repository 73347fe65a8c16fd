"""Where an authority is kept: in a file of the data folder, and in a database."""

from collections.abc import Callable
from pathlib import Path

import pytest

from torpor_account.storage.databases.database import DatabasePart, Migration
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.shared_secrets import shared_secret
from torpor_endpoint.peers.authority_keeping import AuthorityFile, AuthorityInDatabase, AuthorityKeeping
from torpor_endpoint.peers.authority_records import KeptAuthority, PeerRecords

PART = DatabasePart("secrets", (Migration("CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);"),))
RECORDS = PeerRecords((KeptAuthority("certificate", "key", 1.0),), {"r-1": 2.0})

Open = Callable[[Path], AuthorityKeeping]


def in_file(folder: Path) -> AuthorityKeeping:
    return AuthorityFile(folder / "peer-authority.json")


def in_database(folder: Path) -> AuthorityKeeping:
    return AuthorityInDatabase(SqliteFile(folder / "records.sqlite", PART))


@pytest.mark.parametrize("opened", [in_file, in_database])
def test_what_was_written_last_is_there_after_a_restart(tmp_path: Path, opened: Open) -> None:
    assert opened(tmp_path).read() == PeerRecords()
    for records in (RECORDS, RECORDS.refusing("r-2", 3.0)):
        opened(tmp_path).write(records)
        assert opened(tmp_path).read() == records


def test_the_file_is_its_owner_s_alone_and_says_what_to_do_where_it_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "peer-authority.json"
    AuthorityFile(path).write(RECORDS)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("{")
    with pytest.raises(ValueError, match=r"peer-authority\.json cannot be read .* remove it"):
        AuthorityFile(path).read()


def test_another_secret_of_the_database_stays(tmp_path: Path) -> None:
    database = SqliteFile(tmp_path / "records.sqlite", PART)
    assert shared_secret(database, "deployment", lambda: "own") == "own"
    AuthorityInDatabase(database).write(RECORDS)
    assert shared_secret(database, "deployment", lambda: "other") == "own"
