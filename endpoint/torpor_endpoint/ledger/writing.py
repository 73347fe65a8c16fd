"""Writes the ledger's batches in order, in any thread, and each of them once."""

import logging
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock
from typing import NamedTuple

from torpor_account.storage.databases.database import DatabaseFault
from torpor_account.storage.failures import is_machines
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.ledger.row_batch import Batch
from torpor_endpoint.ledger.tables import Retention, Tables

WAITING_ROWS_MAX = 100_000
"""The most rows that wait while the database cannot be written, however long that takes. The oldest are lost then."""
MISTAKES_MAX = 300
"""How often a batch is tried whose fault is not the machine's."""
TOGETHER_ROWS_MAX = 10_000
"""Batches that wait become one with up to so many rows, since the rows of a minute are one row."""

log = logging.getLogger(__name__)


class WaitingBatch(NamedTuple):
    rows: Batch
    at_s: float


class BatchWriter:
    """The log has the first failure, and the first success after it.

    A batch that cannot be written is tried again until it is. There is a bound on the rows that wait meanwhile.
    `added` has the number of each router's last batch that was added to the rows, and `written` that of the last one
    that the database has. `add` is for one thread alone.
    """

    def __init__(self, tables: Tables) -> None:
        """Raises DatabaseFault."""
        self._tables = tables
        self._number = tables.last_batch()
        self.written = tables.router_batches()
        self.added = dict(self.written)
        self._coming: SimpleQueue[WaitingBatch] = SimpleQueue()
        self._waiting: deque[WaitingBatch] = deque()
        self._lost_lives: dict[str, InstanceLife] = {}
        self._given_up: dict[str, int] = {}  # by router: the number of a batch whose rows are lost
        self._lock = Lock()
        self._failing = False
        self._lost_rows = 0  # since it fails
        self._mistakes = 0  # tries of the first batch that failed, though not by the machine
        self._closed = False

    def add(self, rows: Batch, at_s: float) -> None:
        self._number += 1
        rows.number = self._number
        self._coming.put(WaitingBatch(rows, at_s))

    def catch_up(self) -> bool:
        """Write what waits: whether all of it is written."""
        with self._lock:
            while not self._coming.empty():
                self._wait(self._coming.get())
            while self._waiting:
                if not self._write(self._waiting[0]):
                    self._give_up_some()
                    return False
                self.written.update(self._waiting.popleft().rows.routers)
            return not self._given_up or self._tried(self._take_back)

    def bury(self) -> None:
        self._tried(self._tables.bury)

    def prune(self, retention: Retention, now_s: float) -> None:
        with self._lock:
            if not self._closed:
                self._tried(lambda: self._tables.prune(retention, now_s))

    def close(self) -> None:
        self.catch_up()
        with self._lock:
            self._closed = True
            self._tables.close()

    # -- inside ----------------------------------------------------------------------------------------------------
    def _wait(self, one: WaitingBatch) -> None:
        """Add it to the batches that wait. The first one stays as it is: the database may have it."""
        if len(self._waiting) > 1 and self._waiting[-1].rows.rows < TOGETHER_ROWS_MAX:
            self._waiting[-1].rows.absorb(one.rows)
            self._waiting[-1] = one._replace(rows=self._waiting[-1].rows)
        else:
            self._waiting.append(one)

    def _write(self, batch: WaitingBatch) -> bool:
        """Write a batch. Lost lives are tried again: a life whose end is lost would cost money for ever."""
        batch.rows.lives = {**self._lost_lives, **batch.rows.lives}
        if not self._tried(lambda: self._tables.write(batch.rows, batch.at_s)):
            return False
        self._lost_lives = {}
        return True

    def _give_up_some(self) -> None:
        """Lose the first batches of too many rows, and one that no machine keeps from being written; but not their
        lives."""
        rows = sum(batch.rows.rows for batch in self._waiting)
        while self._waiting and (rows > WAITING_ROWS_MAX or self._mistakes >= MISTAKES_MAX):
            lost, self._mistakes = self._waiting.popleft().rows, 0
            rows -= lost.rows
            self._lost_lives |= lost.lives
            self._given_up |= lost.routers
            if not self._lost_rows:
                log.error("rows of the ledger are lost until it can be written")
            self._lost_rows += lost.rows

    def _take_back(self) -> None:
        """Let the routers' batches that were given up come again. The database knows: the last try may have written
        one, though its answer was lost."""
        self.written = self._tables.router_batches()
        for router, number in self._given_up.items():
            if self.added.get(router) == number:
                self.added[router] = self.written.get(router, 0)
        self._given_up = {}

    def _tried(self, write: Callable[[], None]) -> bool:
        try:
            write()
        except DatabaseFault as error:
            if not self._failing and not error.told:
                log.error("cannot write the ledger; its rows wait until it can: %s", error)
                self._failing = True
            self._mistakes += not is_machines(error)
            return False
        if self._failing or self._lost_rows:
            log.warning("can write the ledger again; %d of its rows are lost", self._lost_rows)
        self._failing, self._lost_rows, self._mistakes = False, 0, 0
        return True
