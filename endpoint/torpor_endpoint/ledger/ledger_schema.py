"""Defines the ledger's tables: a part of the database, as the steps by which each version of Torpor has changed it."""

from torpor_account.storage.databases.database import DatabasePart, Migration
from torpor_endpoint.ledger.choice_table import CHOICES
from torpor_endpoint.ledger.face_table import FACES
from torpor_endpoint.ledger.version_table import VERSION_STEPS

_STEPS = (
    """
    CREATE TABLE cold_starts (
        number INTEGER PRIMARY KEY, at_s REAL NOT NULL, request_id TEXT NOT NULL, endpoint TEXT NOT NULL,
        variant TEXT NOT NULL, model TEXT NOT NULL, instance TEXT NOT NULL, status INTEGER NOT NULL,
        steps TEXT NOT NULL, total_s REAL NOT NULL, request_bytes INTEGER NOT NULL, response_bytes INTEGER NOT NULL,
        cold TEXT
    );
    CREATE INDEX cold_starts_by_time ON cold_starts (at_s);
    CREATE TABLE minutes (
        minute_s INTEGER NOT NULL, endpoint TEXT NOT NULL, variant TEXT NOT NULL, model TEXT NOT NULL,
        size TEXT NOT NULL, requests INTEGER NOT NULL, cold INTEGER NOT NULL, errors INTEGER NOT NULL,
        total_s REAL NOT NULL, load_s REAL NOT NULL, predict_s REAL NOT NULL, busy_ms INTEGER NOT NULL,
        predict_ms INTEGER NOT NULL, request_bytes INTEGER NOT NULL, response_bytes INTEGER NOT NULL,
        PRIMARY KEY (minute_s, endpoint, variant, model, size)
    ) WITHOUT ROWID;
    CREATE TABLE lives (
        endpoint TEXT NOT NULL, variant TEXT NOT NULL, instance TEXT PRIMARY KEY, slot INTEGER NOT NULL,
        size TEXT NOT NULL, why_started TEXT NOT NULL, started_s REAL NOT NULL, ready_s REAL,
        why_stopped TEXT NOT NULL, stopped_s REAL, provisioned INTEGER NOT NULL
    );
    CREATE TABLE heartbeat ("only" INTEGER PRIMARY KEY CHECK ("only" = 1), at_s REAL NOT NULL);
    """,
    # The first version kept ten thousand lives: where it has so many, it may have known more.
    """
    CREATE INDEX lives_by_end ON lives (stopped_s);
    CREATE TABLE pruned ("only" INTEGER PRIMARY KEY CHECK ("only" = 1), until_s REAL NOT NULL);
    INSERT INTO pruned SELECT 1, min(stopped_s) FROM lives GROUP BY 1 HAVING count(stopped_s) >= 10000;
    """,
    """
    CREATE TABLE served (
        endpoint TEXT NOT NULL, variant TEXT NOT NULL, since_s REAL NOT NULL, until_s REAL NOT NULL,
        PRIMARY KEY (endpoint, variant)
    ) WITHOUT ROWID;
    INSERT INTO served SELECT endpoint, variant, min(started_s), max(coalesce(stopped_s, ready_s, started_s))
        FROM lives GROUP BY 1, 2;
    """,
    """
    ALTER TABLE cold_starts ADD COLUMN effort TEXT;
    ALTER TABLE minutes ADD COLUMN measured INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE minutes ADD COLUMN work_s REAL NOT NULL DEFAULT 0;
    ALTER TABLE minutes ADD COLUMN delay_s REAL NOT NULL DEFAULT 0;
    """,
    """
    CREATE TABLE IF NOT EXISTS memory (
        minute_s INTEGER NOT NULL, endpoint TEXT NOT NULL, variant TEXT NOT NULL, size TEXT NOT NULL,
        budget_bytes INTEGER NOT NULL, looks INTEGER NOT NULL, own_bytes INTEGER NOT NULL,
        short INTEGER NOT NULL, short_own_bytes INTEGER NOT NULL,
        PRIMARY KEY (minute_s, endpoint, variant, size, budget_bytes)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS spans (
        minute_s INTEGER NOT NULL, endpoint TEXT NOT NULL, variant TEXT NOT NULL, model TEXT NOT NULL,
        first_s REAL NOT NULL, last_s REAL NOT NULL, PRIMARY KEY (minute_s, endpoint, variant, model)
    ) WITHOUT ROWID;
    """,
    "ALTER TABLE cold_starts ADD COLUMN inference_id TEXT NOT NULL DEFAULT '';",
    """
    ALTER TABLE cold_starts ADD COLUMN container_s TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE cold_starts ADD COLUMN shadow INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE minutes ADD COLUMN copies INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE lives ADD COLUMN shadow INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE lives ADD COLUMN changed_s REAL;
    CREATE TABLE containers (
        minute_s INTEGER NOT NULL, endpoint TEXT NOT NULL, variant TEXT NOT NULL, model TEXT NOT NULL,
        position INTEGER NOT NULL, container TEXT NOT NULL, requests INTEGER NOT NULL, total_s REAL NOT NULL,
        warm INTEGER NOT NULL, warm_s REAL NOT NULL,
        PRIMARY KEY (minute_s, endpoint, variant, model, position, container)
    ) WITHOUT ROWID;
    CREATE TABLE memory_by_container (
        minute_s INTEGER NOT NULL, endpoint TEXT NOT NULL, variant TEXT NOT NULL, size TEXT NOT NULL,
        budget_bytes INTEGER NOT NULL, container TEXT NOT NULL, looks INTEGER NOT NULL, own_bytes INTEGER NOT NULL,
        short INTEGER NOT NULL, short_own_bytes INTEGER NOT NULL,
        PRIMARY KEY (minute_s, endpoint, variant, size, budget_bytes, container)
    ) WITHOUT ROWID;
    INSERT INTO memory_by_container SELECT minute_s, endpoint, variant, size, budget_bytes, '', looks, own_bytes,
        short, short_own_bytes FROM memory;
    DROP TABLE memory;
    ALTER TABLE memory_by_container RENAME TO memory;
    """,
    # The batches of routers that the ledger has: one that comes again is not written again.
    """
    CREATE TABLE router_batches (router TEXT PRIMARY KEY, number INTEGER NOT NULL, at_s REAL NOT NULL) WITHOUT ROWID;
    """,
    "ALTER TABLE heartbeat ADD COLUMN batch INTEGER NOT NULL DEFAULT 0;",
    "ALTER TABLE spans ADD COLUMN seconds INTEGER NOT NULL DEFAULT 0;",
    """
    ALTER TABLE lives ADD COLUMN volume_gb REAL;
    ALTER TABLE lives ADD COLUMN placed_on TEXT NOT NULL DEFAULT '';
    ALTER TABLE lives ADD COLUMN reserved_mib REAL NOT NULL DEFAULT 0;
    ALTER TABLE lives ADD COLUMN reserved_cores REAL NOT NULL DEFAULT 0;
    ALTER TABLE lives ADD COLUMN reserved_accelerators REAL NOT NULL DEFAULT 0;
    """,
    """
    CREATE TABLE setups (
        endpoint TEXT NOT NULL, variant TEXT NOT NULL, since_s REAL NOT NULL, setup TEXT NOT NULL,
        PRIMARY KEY (endpoint, variant)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE memory ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE memory ADD COLUMN workers INTEGER NOT NULL DEFAULT 0;
    """,
    """
    ALTER TABLE spans ADD COLUMN moments TEXT NOT NULL DEFAULT '';
    ALTER TABLE minutes ADD COLUMN fetches INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE minutes ADD COLUMN fetched_bytes INTEGER NOT NULL DEFAULT 0;
    """,
    "ALTER TABLE cold_starts ADD COLUMN face TEXT NOT NULL DEFAULT '';",
    CHOICES,
    VERSION_STEPS,
    FACES,
)
LEDGER = DatabasePart("ledger", tuple(map(Migration, _STEPS)), synced=False, further=True, expendable=True)
