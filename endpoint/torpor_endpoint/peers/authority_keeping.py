"""Keeps a deployment's authority where its other secrets are: in its data folder, or in its database."""

import json
from pathlib import Path
from typing import Protocol

from torpor_account.storage.databases.database import Database
from torpor_account.storage.deployment_secret import UnreadableSecret
from torpor_account.storage.private import write_private
from torpor_account.storage.shared_secrets import put_secret, shared_secret
from torpor_container.typed_json import read, written
from torpor_endpoint.peers.authority_records import PeerRecords

SECRET = "peer authority"


class AuthorityKeeping(Protocol):
    """Where the records of one deployment are."""

    @property
    def place(self) -> str:
        """Where that is, in words."""

    def read(self) -> PeerRecords:
        """What is kept; records without an authority if there is nothing yet. Raises UnreadableSecret,
        DatabaseFault."""

    def write(self, records: PeerRecords) -> None:
        """Keep this from now on. Raises OSError, DatabaseFault."""


class AuthorityFile:
    """A file of the data folder, which its owner alone may read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        return str(self._path)

    def read(self) -> PeerRecords:
        try:
            return _records(self._path.read_text())
        except FileNotFoundError:
            return PeerRecords()
        except OSError as error:
            raise UnreadableSecret(f"{self.place} cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise unreadable(self.place, error) from error

    def write(self, records: PeerRecords) -> None:
        write_private(self._path, json.dumps(written(records)).encode())


class AuthorityInDatabase:
    """A row of the deployment's database, beside its other secrets."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def place(self) -> str:
        return f"the row {SECRET!r} of the table secrets in the database"

    def read(self) -> PeerRecords:
        try:
            return _records(shared_secret(self._database, SECRET, lambda: "{}"))
        except ValueError as error:
            raise unreadable(self.place, error) from error

    def write(self, records: PeerRecords) -> None:
        put_secret(self._database, SECRET, json.dumps(written(records)))


def unreadable(place: str, error: ValueError) -> UnreadableSecret:
    """What is kept at this place is no authority."""
    return UnreadableSecret(f"{place} is no authority of a deployment ({error}): remove it, and another is made")


def _records(text: str) -> PeerRecords:
    return read(PeerRecords, json.loads(text))
