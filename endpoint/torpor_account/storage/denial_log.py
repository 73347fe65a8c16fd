"""Keeps the latest denials in a database, for the page that shows them, also after a restart on another machine.

Callers that are refused make it grow, so it is bounded. The refused caller waits for the write; it runs on a thread.
The tables are a database of their own: a denial is no change of the records, which makes whoever has copies read again.
"""

import hashlib
import json
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

from torpor_account.core.access.explaining.denial import Denial
from torpor_account.core.pages.denials import LIMIT
from torpor_account.storage.databases.database import Database, DatabaseFault, DatabasePart, Migration
from torpor_container.typed_json import read, written

KEPT = 1_000
"""How many denials are kept."""
DENIALS = DatabasePart(
    "denials",
    (
        Migration("""
            CREATE TABLE denials (
                number INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL,
                record TEXT NOT NULL
            );
            CREATE INDEX denials_by_request ON denials (request_id, number);
        """),
    ),
    synced=False,
    further=True,
    expendable=True,
)
INSERT = "INSERT INTO denials (digest, request_id, record) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING"

log = logging.getLogger(__name__)


class DenialLog:
    """The latest denials. For any thread. `clock` gives epoch seconds. What the database does not take waits in memory
    for the next denial."""

    def __init__(self, database: Database, clock: Callable[[], float], kept: int = KEPT) -> None:
        self._database = database
        self._clock = clock
        self._kept = kept
        self._waiting: deque[Denial] = deque(maxlen=kept)
        self._turn = Lock()

    def close(self) -> None:
        self._database.close()

    def add(self, denied: Denial, request_id: str) -> None:
        """Keep a denial of now under the id that its caller sees."""
        self.keep([replace(denied, request_id=request_id, at_s=self._clock())])

    def keep(self, denials: Sequence[Denial]) -> None:
        """Keep denials that have their ids and times. For any thread."""
        with self._turn:
            self._waiting += denials
            try:
                self._write()
            except DatabaseFault as error:
                if not error.told:
                    log.warning("a denial is kept in memory only: %s", error)

    def found(self, request_id: str | None = None, limit: int = LIMIT) -> list[Denial]:
        """The denials of a request, or the latest ones; the newest first. It waits for the database. Raises
        DatabaseFault."""
        with self._turn:
            waiting = list(self._waiting)
        latest = {_row(one).digest: one for one in reversed(waiting) if request_id in (None, one.request_id)}
        stored = self._stored(request_id, limit + len(latest))
        return [*latest.values(), *(one for digest, one in stored if digest not in latest)][:limit]

    def _stored(self, request_id: str | None, limit: int) -> Iterator[tuple[str, Denial]]:
        """Denials with their digests. Some may still wait, too: those that were written meanwhile, and those of which
        nobody knows whether they were."""
        where, values = ("", ()) if request_id is None else ("WHERE request_id = ?", (request_id,))
        for digest, record in self._database.rows(
            f"SELECT digest, record FROM denials {where} ORDER BY number DESC LIMIT ?", *values, limit
        ):
            for one in _read(record):
                yield digest, one

    def _write(self) -> None:
        """Write what waits. Where nobody knows whether the database took it, it is written again: a row is there
        once."""
        rows = [_row(one) for one in self._waiting]
        with self._database.transaction():
            self._database.write_many(INSERT, rows)
            ((newest,),) = self._database.rows("SELECT max(number) FROM denials")
            self._database.changed("DELETE FROM denials WHERE number <= ?", newest - self._kept)
        self._waiting.clear()


class DenialRow(NamedTuple):
    digest: str
    request_id: str
    record: str


def _row(one: Denial) -> DenialRow:
    record = json.dumps(written(one), separators=(",", ":"))
    return DenialRow(hashlib.sha256(record.encode()).hexdigest(), one.request_id, record)


def _read(record: str) -> Iterator[Denial]:
    """The denial in a row; none in one that another version wrote."""
    try:
        yield read(Denial, json.loads(record))
    except ValueError:
        log.warning("a row of the denials cannot be read, and is left out")
