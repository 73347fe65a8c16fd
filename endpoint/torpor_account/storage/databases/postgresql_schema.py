"""A database in a schema of a PostgreSQL server, which one endpoint at a time may use.

The connection that writes holds the lock. So an endpoint that has lost its lock cannot write: when the server has let
another endpoint in, this one ends. An endpoint that holds the lock and beats no longer loses it: whoever waits has the
server end its connections, and with them what they had begun. It beats for as long as its event loop turns.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from secrets import token_hex
from threading import RLock
from time import monotonic, sleep
from typing import Any

import psycopg

from torpor_account.core.outages.error_owners import ErrorOwner, of_postgresql
from torpor_account.core.outages.holder_silence import HolderSilence
from torpor_account.core.outages.lease_proof import LeaseProof
from torpor_account.core.outages.loop_pulse import LoopPulse
from torpor_account.storage.databases.database import (
    Database,
    DatabaseAway,
    DatabaseFault,
    DatabaseInUse,
    DatabasePart,
    OutcomeUnknown,
    outage_log,
    steps_from,
)
from torpor_account.storage.databases.postgresql_connection import Connection, connected, first_line
from torpor_account.storage.databases.postgresql_heartbeat import WAITERS, Heartbeat, last_beat
from torpor_account.storage.databases.statement_spelling import placed, spelled
from torpor_container.waiting.quiet_time import QuietClock

LOCK_PATIENCE_S = 30.0
"""How long a new endpoint waits for an old one. The server needs half of it to notice that the old one's machine is
gone."""
LOOK_S = 0.25
LEASE_LOOKS = 12
"""An endpoint whose beat stands still for so many looks, about 3 s and six beats, loses its lock to one that waits."""
LEFT_LOOKS = 0
LEFT_LOOK_S = 0.05
"""The same for the further parts. Whoever holds the first one is the deployment's endpoint: connections of others are
those of an earlier one."""
PAUSE_S = 1.0
"""After a connection that failed, the next is tried after so long: callers in between fail at once."""
IDLE_S = 1.0
"""A connection that was idle for so long is asked whether it is still there before it writes."""
PREPARING = """
    CREATE TABLE IF NOT EXISTS torpor_state (
        only_one BIGINT PRIMARY KEY CHECK (only_one = 1), version BIGINT NOT NULL, holder TEXT NOT NULL
    );
    ALTER TABLE torpor_state ADD COLUMN IF NOT EXISTS beats BIGINT NOT NULL DEFAULT 0;
    INSERT INTO torpor_state VALUES (1, 0, '', 0) ON CONFLICT DO NOTHING;
    CREATE OR REPLACE FUNCTION json_extract(document TEXT, path TEXT) RETURNS DOUBLE PRECISION IMMUTABLE LANGUAGE sql AS
        $$ SELECT (jsonb_path_query_first(document::jsonb, path::jsonpath) #>> '{}')::DOUBLE PRECISION $$;
"""
LOCKED = (
    "the database is locked by another connection: the old session ends by itself within about 15 s; if not, end it "
    "with pg_terminate_backend"
)
STANDS_BY = "standing by: another endpoint uses the schema %s of the database"
IN_USE = "the schema %s of the database is in use: waiting up to %g s for its endpoint to end"
TRY_LOCK = "SELECT pg_try_advisory_lock(hashtext('torpor'), hashtext(current_schema()))"
WAITS = f"SELECT pg_try_advisory_lock_shared({WAITERS})"
WAITS_NO_LONGER = f"SELECT pg_advisory_unlock_shared({WAITERS})"
END_SESSION = "SELECT pg_terminate_backend(%s)"

log = logging.getLogger(__name__)


class PostgresqlSchema(Database):
    """One connection that writes, and one that beats if the part is the deployment's first. `taken_over` is called, in
    any thread, once another endpoint uses the schema."""

    def __init__(
        self,
        url: str,
        part: DatabasePart,
        taken_over: Callable[[], None],
        lock_patience_s: float = LOCK_PATIENCE_S,
        standby: bool = False,
        pulse: LoopPulse | None = None,
        proof: LeaseProof | None = None,
    ) -> None:
        """Connect, and make or migrate the tables. A standby waits for as long as another endpoint beats. `pulse` is
        that of the event loop that serves, which `proof` tells of beats that arrive. Raises DatabaseFault,
        DatabaseInUse, SchemaTooNew."""
        self._part = part
        self._schema = part.name if part.name == "torpor" else f"torpor_{part.name}"
        self._connected = partial(connected, url, self._schema, part.synced)
        self._taken_over = taken_over
        self._pulse, self._proof = pulse or LoopPulse(), proof or LeaseProof()
        self._holder = token_hex(16)
        self._outage = outage_log(self._schema)
        self._begun = False
        self._lock = RLock()
        self._changes = 0
        self._used_s = self._failed_s = -PAUSE_S
        self._in_transaction = self._closed = False
        self._heartbeat: Heartbeat | None = None
        with self._faults(), ExitStack() as unfinished:
            self._connection = self._first_connection(standby)
            unfinished.callback(lambda: self._connection.close())
            self._wait(lock_patience_s, standby and not part.further)
            unfinished.callback(self._silenced)
            self._begin()
            unfinished.pop_all()
        self._begun = True

    def close(self) -> None:
        """Give it up: one that stands by takes it over at once."""
        self._silenced()
        with self._lock, suppress(psycopg.Error):
            self._closed = True
            if not self._connection.closed:
                self._connection.execute("UPDATE torpor_state SET holder = '' WHERE holder = %s", (self._holder,))
            self._connection.close()

    @property
    def changes(self) -> int:
        return self._changes

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock, self._faults():
            cursor = self._executed(statement, values)
            return cursor.fetchall() if cursor.description is not None else []

    def changed(self, statement: str, *values: object) -> bool:
        with self._lock, self._faults():
            return self._executed(statement, values).rowcount > 0

    def inserted(self, statement: str, *values: object) -> int:
        with self._lock, self._faults():
            row = self._executed(f"{statement} RETURNING number", values).fetchone()
            assert row is not None, statement
            return int(row[0])

    def write_many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self._lock, self._faults():
            given = [tuple(row) for row in rows]
            if not given:
                return
            cursor = self._live().cursor()
            cursor.executemany(placed(statement, given[0])[0], given)
            self._count(cursor)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            with self._faults():
                self._live().execute("BEGIN")
            self._in_transaction = True
            try:
                with ExitStack() as unfinished:
                    unfinished.callback(self._roll_back)
                    yield
                    self._commit()
                    unfinished.pop_all()
            finally:
                self._in_transaction = False

    def _lost(self) -> None:
        log.critical("%s: another endpoint uses the database now; this one ends", self._schema)
        self._taken_over()

    def _silenced(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.close()

    # -- inside ----------------------------------------------------------------------------------------------------
    def _roll_back(self) -> None:
        with suppress(psycopg.Error):
            self._connection.execute("ROLLBACK")

    def _commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except psycopg.Error as error:
            if not self._connection.closed:
                raise self._fault(error) from error
            self._outage.began(first_line(error))
            raise OutcomeUnknown(f"{self._schema}: {first_line(error)}") from error
        self._outage.ended()

    def _executed(self, statement: str, values: tuple[object, ...]) -> "psycopg.Cursor[tuple[Any, ...]]":
        text, given = placed(statement, values)
        cursor = self._live().cursor()
        cursor.execute(text, given)
        if not statement.lstrip().startswith(("SELECT", "WITH")):
            self._count(cursor)
            if not self._in_transaction:
                self._outage.ended()
        return cursor

    def _count(self, cursor: "psycopg.Cursor[tuple[Any, ...]]") -> None:
        self._changes += max(cursor.rowcount, 0)

    def _live(self) -> Connection:
        """The connection; another, if the server ended it. In a transaction, that is the transaction's end."""
        if self._in_transaction:
            return self._connection
        now_s = monotonic()
        if not self._connection.closed and now_s - self._used_s > IDLE_S:
            with suppress(psycopg.Error):
                self._connection.execute("SELECT 1")
        if self._connection.closed:
            self._reconnect(now_s)
        self._used_s = now_s
        return self._connection

    def _reconnect(self, now_s: float) -> None:
        if self._closed:
            raise DatabaseFault(f"{self._schema}: it was closed")
        if now_s - self._failed_s < PAUSE_S:
            raise DatabaseAway(f"{self._schema}: the database does not answer")
        try:
            with ExitStack() as unfinished:
                connection = self._connected()
                unfinished.callback(connection.close)
                self._take_back(connection)
                unfinished.pop_all()
        except (psycopg.Error, DatabaseFault):
            self._failed_s = monotonic()
            raise
        self._connection = connection
        self._outage.ended()
        self._changes += 1  # whoever reads copies reads again

    def _take_back(self, connection: Connection) -> None:
        """Lock the schema for the new connection. The old one's lock lasts until the server notices its end."""
        locked = _locks(connection)
        (holder,) = connection.execute("SELECT holder FROM torpor_state").fetchone() or ("",)
        if holder != self._holder:
            self._lost()
        elif locked:
            return
        self._outage.began(LOCKED)
        raise DatabaseInUse(f"{self._schema}: {LOCKED}")

    def _first_connection(self, standby: bool) -> Connection:
        """A connection. A standby waits until there is one: it may start where the server is away, as it takes the
        place of an endpoint that lost its lease."""
        while True:
            try:
                connection = self._connected()
            except psycopg.Error as error:
                if not standby:
                    raise
                self._outage.began(first_line(error))
                sleep(PAUSE_S)
            else:
                self._outage.ended()
                return connection

    def _wait(self, patience_s: float, standby: bool) -> None:
        """Wait for the lock. A standby waits on while the server is away. Raises DatabaseInUse."""
        clock, warned = QuietClock(), False
        waiting: object = None  # the connection that is known to wait
        silence = HolderSilence(LEFT_LOOKS if self._part.further else LEASE_LOOKS)
        while True:
            try:
                if self._connection.closed:
                    self._connection = self._connected()
                if waiting is not self._connection:
                    self._connection.execute(WAITS)
                    waiting = self._connection
                if self._takes(silence, standby):
                    self._connection.execute(WAITS_NO_LONGER)
                    return
            except psycopg.Error:
                if not standby:
                    raise
            if not warned:
                log.warning(*((STANDS_BY, self._schema) if standby else (IN_USE, self._schema, patience_s)))
                warned = True
            if clock() > patience_s and not standby:
                raise DatabaseInUse(
                    f"another endpoint uses the schema {self._schema} of the database: stop it, or name another one"
                )
            sleep(LEFT_LOOK_S if self._part.further else LOOK_S)

    def _takes(self, silence: HolderSilence, standby: bool) -> bool:
        """Look once: whether this endpoint has the lock now. It ends the connection of one that is silent. A standby
        leaves a lock that is free to an endpoint that lost its connection and beats again."""
        silence.look(last_beat(self._connection))
        if (not standby or silence.given_up or silence.is_silent) and _locks(self._connection):
            return True
        if silence.silent_session is not None:
            log.warning("the endpoint that uses the schema %s is frozen or gone: this one takes over", self._schema)
            self._connection.execute(END_SESSION, (silence.silent_session,))
        return False

    def _begin(self) -> None:
        """Note who has the lock, and bring the tables to this version. What waits sees it beat meanwhile."""
        self._connection.execute(PREPARING)
        self._connection.execute("UPDATE torpor_state SET holder = %s, beats = beats + 1", (self._holder,))
        if not self._part.further:
            self._heartbeat = Heartbeat(self._connected, self._holder, self._lost, self._pulse, self._proof)
        (version,) = self._connection.execute("SELECT version FROM torpor_state").fetchone() or (0,)
        where = f"the schema {self._schema} of the database"
        for number, step in steps_from(version, where, self._part.migrations):
            statements = spelled(step.sqlite) if step.postgresql is None else step.postgresql
            self._connection.execute(f"BEGIN; {statements} UPDATE torpor_state SET version = {number}; COMMIT;")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._fault(error) from error

    def _fault(self, error: psycopg.Error) -> DatabaseFault:
        text = f"{self._schema}: {first_line(error)}"
        connected = self._begun and not self._connection.closed and not isinstance(error, psycopg.OperationalError)
        if not self._begun or of_postgresql(error.sqlstate, connected) is not ErrorOwner.MACHINE:
            return DatabaseFault(text)
        self._outage.began(first_line(error))
        return DatabaseAway(text)


def _locks(connection: Connection) -> bool:
    return bool((connection.execute(TRY_LOCK).fetchone() or (False,))[0])
