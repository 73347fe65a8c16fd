"""Opens the databases of an endpoint: files in its data folder, or schemas of a PostgreSQL server."""

import os
from pathlib import Path

from torpor_account.core.outages.lease_proof import LeaseProof
from torpor_account.core.outages.loop_pulse import LoopPulse
from torpor_account.storage.databases.database import Database, DatabasePart
from torpor_account.storage.databases.sqlite_file import SqliteFile

TAKEN_OVER = 75
"""The exit code of a process whose database another endpoint uses now. The next one waits for the lock."""


def opened(
    part: DatabasePart,
    folder: Path,
    url: str | None,
    standby: bool = False,
    pulse: LoopPulse | None = None,
    proof: LeaseProof | None = None,
) -> Database:
    """A part's database, with its tables. `url` is that of PostgreSQL, where a standby waits until no other endpoint
    uses it; an endpoint whose event loop has no `pulse` loses it, and `proof` tells that loop of beats that arrive.
    Raises DatabaseFault, SchemaTooNew."""
    if url is None:
        return SqliteFile(folder / f"{part.name}.sqlite", part)
    from torpor_account.storage.databases.postgresql_schema import PostgresqlSchema

    return PostgresqlSchema(url, part, end_process, standby=standby, pulse=pulse, proof=proof)


def end_process() -> None:
    """End this process at once: another endpoint manages the instances now, and this one must not."""
    os._exit(TAKEN_OVER)
