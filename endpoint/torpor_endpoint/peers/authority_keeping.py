"""Keeps a deployment's authority where its other secrets are: in its data folder, or in its database."""

import json
from pathlib import Path
from typing import Protocol

from torpor_account.storage.databases.database import Database
from torpor_account.storage.private import write_private
from torpor_account.storage.shared_secrets import put_secret, shared_secret
from torpor_container.typed_json import read, written
from torpor_endpoint.peers.authority_records import PeerRecords

SECRET = "peer authority"


class AuthorityKeeping(Protocol):
    """Where the records of one deployment are."""

    def read(self) -> PeerRecords:
        """What is kept; records without an authority if there is nothing yet. Raises ValueError, OSError,
        DatabaseFault."""

    def write(self, records: PeerRecords) -> None:
        """Keep this from now on. Raises OSError, DatabaseFault."""


class AuthorityFile:
    """A file of the data folder, which its owner alone may read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> PeerRecords:
        try:
            return _records(self._path.read_text())
        except FileNotFoundError:
            return PeerRecords()
        except ValueError as error:
            raise ValueError(f"{self._path} cannot be read ({error}): remove it, and another is made") from error

    def write(self, records: PeerRecords) -> None:
        write_private(self._path, json.dumps(written(records)).encode())


class AuthorityInDatabase:
    """A row of the deployment's database, beside its other secrets."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> PeerRecords:
        return _records(shared_secret(self._database, SECRET, lambda: "{}"))

    def write(self, records: PeerRecords) -> None:
        put_secret(self._database, SECRET, json.dumps(written(records)))


def _records(text: str) -> PeerRecords:
    return read(PeerRecords, json.loads(text))
