"""A database, as the endpoint uses it: SQL that SQLite and PostgreSQL both understand, from any thread."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import count
from typing import Any, NamedTuple

from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.storage.outage_log import OutageLog


class DatabaseFault(RecordsFault):
    """The database did not do it."""


class DatabaseAway(DatabaseFault):
    """The machine failed it: no disk, no server (`core.outages.error_owners`). The log has the outage."""

    told = True


class OutcomeUnknown(DatabaseAway):
    """The connection broke before the answer to a commit: the changes are made, all or none, and nobody knows which.
    Whoever makes them again asks the database first."""


class DatabaseInUse(DatabaseAway):
    """Another endpoint uses it."""


class SchemaTooNew(Exception):
    """A later version of Torpor wrote the tables."""

    def __init__(self, where: object, version: int, known: int) -> None:
        super().__init__(
            f"{where} has schema version {version}, and this Torpor knows versions up to {known}: "
            "start the later Torpor that wrote it, or choose another data directory or database"
        )


class Migration(NamedTuple):
    """The statements from one version of the tables to the next, for SQLite.

    PostgreSQL's follow from them (`statement_spelling.spelled`), or are given: a step that mends rows of a version from
    before PostgreSQL could be used has nothing to do there.
    """

    sqlite: str
    postgresql: str | None = None


class DatabasePart(NamedTuple):
    """One of the sets of tables that an endpoint has: a file of SQLite, or a schema of a PostgreSQL database."""

    name: str
    migrations: Sequence[Migration]
    """Only ever add to the end: their number is the tables' version."""
    synced: bool = True
    """Whether the effect of a returned statement survives a loss of power, and not only `kill -9`."""
    further: bool = False
    """Whether whoever opens it holds the deployment's first part already."""
    expendable: bool = False
    """Whether a new file begins in place of a damaged one, which is put aside."""


class Database(ABC):
    """A connection for any thread. Each method raises DatabaseFault.

    Statements may use the functions `floor`, `greatest` and `least` (of values that are not null), and
    `json_extract(document, path)` of a number.
    """

    @abstractmethod
    def close(self) -> None: ...

    @property
    @abstractmethod
    def changes(self) -> int:
        """How many rows were changed since it was opened. The same number means the same content."""

    @abstractmethod
    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a SELECT; none of another statement. Its parameters are `?`, or `?1`, `?2` … where one is used
        more than once."""

    @abstractmethod
    def changed(self, statement: str, *values: object) -> bool:
        """Execute the statement: whether it changed a row."""

    @abstractmethod
    def inserted(self, statement: str, *values: object) -> int:
        """Execute an INSERT of one row into a table that numbers its rows: the row's `number`."""

    @abstractmethod
    def write_many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Execute the statement once for each row. Call it inside a transaction."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Make all changes of the block, or none. Other threads wait. Transactions do not nest. Raises OutcomeUnknown
        if it is not known which."""


def outage_log(name: str) -> OutageLog:
    """Says when the machine fails a database of this name."""
    database = f"the database {name}"
    return OutageLog(f"{database} cannot be used, and what needs it fails or waits", f"{database} can be used again")


def steps_from(version: int, where: object, migrations: Sequence[Migration]) -> Iterator[tuple[int, Migration]]:
    """The migrations that tables of this version lack, each with the version that it makes. Raises SchemaTooNew."""
    if version > len(migrations):
        raise SchemaTooNew(where, version, len(migrations))
    return zip(count(version + 1), migrations[version:], strict=False)
