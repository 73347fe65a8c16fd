"""Where an authority is kept: in a file of the data folder, and in a database."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from torpor_account.storage.databases.database import DatabasePart, Migration
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.deployment_secret import UnreadableSecret
from torpor_account.storage.shared_secrets import put_secret, shared_secret
from torpor_container.typed_json import written
from torpor_endpoint.peers.authority_keeping import SECRET, AuthorityFile, AuthorityInDatabase, AuthorityKeeping
from torpor_endpoint.peers.authority_records import KeptAuthority, PeerRecords
from torpor_endpoint.peers.deployment_peers import DeploymentPeers

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


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "peer-authority.json"
    AuthorityFile(path).write(RECORDS)
    assert path.stat().st_mode & 0o777 == 0o600


BROKEN = PeerRecords((KeptAuthority("no certificate", "no key", 1.0),))


@pytest.mark.parametrize("text", ["{", '{"authorities": 7}', json.dumps(written(BROKEN))])
@pytest.mark.parametrize("opened", [in_file, in_database])
def test_what_cannot_be_read_is_named_with_what_to_do(tmp_path: Path, opened: Open, text: str) -> None:
    keeping = opened(tmp_path)
    if isinstance(keeping, AuthorityFile):
        Path(keeping.place).write_text(text)
    else:
        put_secret(SqliteFile(tmp_path / "records.sqlite", PART), SECRET, text)
    with pytest.raises(
        UnreadableSecret, match=f"^{re.escape(keeping.place)} is no .*: remove it, and another is made$"
    ):
        DeploymentPeers(keeping, "0a1b2c3d", lambda: 2.0)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "peer-authority.json").mkdir()  # as root, every file may be read
    with pytest.raises(UnreadableSecret, match=r"peer-authority\.json cannot be read \(Is a directory\)"):
        in_file(tmp_path).read()


def test_another_secret_of_the_database_stays(tmp_path: Path) -> None:
    database = SqliteFile(tmp_path / "records.sqlite", PART)
    assert shared_secret(database, "deployment", lambda: "own") == "own"
    AuthorityInDatabase(database).write(RECORDS)
    assert shared_secret(database, "deployment", lambda: "other") == "own"
