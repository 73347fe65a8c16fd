"""Beats in a schema for as long as this process runs and its event loop turns, so that others see it.

It has a connection of its own: the one that writes may be busy for minutes. It ends the process that finds another
holder in its place, such as one that was frozen and goes on, or one whose loop hangs.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Event, Thread

import psycopg

from torpor_account.core.outages.holder_silence import Beat
from torpor_account.core.outages.lease_proof import GIVEN_UP_LOOKS, LeaseProof
from torpor_account.core.outages.loop_pulse import LoopPulse
from torpor_account.storage.databases.database import DatabaseFault
from torpor_account.storage.databases.postgresql_connection import Connection

BEAT_S = 0.5
LOOK = """
    SELECT holder, beats, (
        SELECT pid FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid = hashtext('torpor')::oid AND objid = hashtext(current_schema())::oid
    ) FROM torpor_state
"""

WAITERS = "hashtext('torpor waits'), hashtext(current_schema())"
"""A lock that all share who wait for the schema."""
BEAT = """
    UPDATE torpor_state SET beats = beats + 1 WHERE holder = %s RETURNING EXISTS (
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid = hashtext('torpor waits')::oid AND objid = hashtext(current_schema())::oid
    )
"""
HUNG = "the event loop hangs: this endpoint beats no longer, so that another one may take the database over"

UNPROVEN = (
    "no beat has reached the database for about %g s, and another endpoint waits for it: this one ends, so that one "
    "alone manages the instances"
)

log = logging.getLogger(__name__)


class Heartbeat:
    """A thread. `connected` makes a connection to the schema, and `lost` is called once another holds it. `pulse` is
    that of the process's event loop, which sees by `proof` whether beats arrive."""

    def __init__(
        self,
        connected: Callable[[], Connection],
        holder: str,
        lost: Callable[[], None],
        pulse: LoopPulse,
        proof: LeaseProof,
    ) -> None:
        self._connected = connected
        self._holder = holder
        self._lost = lost
        self._pulse = pulse
        self._proof = proof
        self._ending = Event()
        self._thread = Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        connection: Connection | None = None
        turned = True
        while not self._ending.wait(BEAT_S):
            turns = self._pulse.look()
            if turned and not turns:
                log.critical(HUNG)
            turned = turns
            try:
                if connection is None or connection.closed:
                    connection = self._connected()
                if not (self._beats(connection) if turns else holds(connection, self._holder)):
                    self._lost()
                    break
            except (psycopg.Error, DatabaseFault):
                _closed(connection)  # whoever needs the database says that it is away
                connection = None
        _closed(connection)

    def _beats(self, connection: Connection) -> bool:
        """Count one more beat of the holder: whether it still holds the schema."""
        row = connection.execute(BEAT, (self._holder,)).fetchone()
        if row is not None:
            self._proof.proved(waits=bool(row[0]))
        return row is not None


def holds(connection: Connection, holder: str) -> bool:
    """Whether it still holds the schema. It counts no beat."""
    row = connection.execute("SELECT holder FROM torpor_state").fetchone()
    return row is not None and row[0] == holder


async def turn(
    pulse: LoopPulse,
    proof: LeaseProof,
    pause: Callable[[float], Awaitable[None]],
    given_up: Callable[[], None] | None = None,
) -> None:
    """Count the turns of this event loop, for ever, and look whether beats arrive. `given_up` ends the process where
    they do not, and another endpoint waits; without it the loop goes on."""
    try:
        while True:
            pulse.turn()
            proof.look()
            if given_up is not None and proof.is_given_up:
                log.critical(UNPROVEN, GIVEN_UP_LOOKS * BEAT_S)
                given_up()
                return
            await pause(BEAT_S)
    finally:
        pulse.rest()


def last_beat(connection: Connection) -> Beat | None:
    """The latest beat of whoever holds the schema; None if nobody ever has."""
    with suppress(psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
        row = connection.execute(LOOK).fetchone()
        return None if row is None else Beat(*row)
    return None


def _closed(connection: Connection | None) -> None:
    if connection is not None:
        with suppress(psycopg.Error):
            connection.close()
