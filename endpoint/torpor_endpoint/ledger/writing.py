"""Writes the ledger's batches in order, in any thread, and each of them once."""

import logging
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock
from typing import NamedTuple

from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.ledger.tables import Batch, Retention, Tables
from torpor_endpoint.storage.databases.database import DatabaseFault

WAITING_MAX_S = 300.0
"""How long a batch waits while the database cannot be written. Its rows are lost then."""
WAITING_ROWS_MAX = 100_000
"""The most rows that wait so."""

log = logging.getLogger(__name__)


class WaitingBatch(NamedTuple):
    rows: Batch
    at_s: float


class BatchWriter:
    """The log has the first failure, and the first success after it.

    A batch that cannot be written is tried again for a while. There is a bound on the rows that wait meanwhile.
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
        self._closed = False

    def add(self, rows: Batch, at_s: float) -> None:
        self._number += 1
        rows.number = self._number
        self._coming.put(WaitingBatch(rows, at_s))

    def catch_up(self) -> bool:
        """Write what waits: whether all of it is written."""
        with self._lock:
            while not self._coming.empty():
                self._waiting.append(self._coming.get())
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
    def _write(self, batch: WaitingBatch) -> bool:
        """Write a batch. Lost lives are tried again: a life whose end is lost would cost money for ever."""
        batch.rows.lives = {**self._lost_lives, **batch.rows.lives}
        if not self._tried(lambda: self._tables.write(batch.rows, batch.at_s)):
            return False
        self._lost_lives = {}
        return True

    def _give_up_some(self) -> None:
        """Lose the batches that are too old, and the first ones of too many rows; but not their lives."""
        rows, until_s = sum(batch.rows.rows for batch in self._waiting), self._waiting[-1].at_s - WAITING_MAX_S
        while self._waiting and (rows > WAITING_ROWS_MAX or self._waiting[0].at_s < until_s):
            lost = self._waiting.popleft().rows
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
            if not self._failing:
                log.error("cannot write the ledger; its rows wait until it can: %s", error)
            self._failing = True
            return False
        if self._failing:
            log.warning("can write the ledger again; %d of its rows are lost", self._lost_rows)
        self._failing, self._lost_rows = False, 0
        return True
