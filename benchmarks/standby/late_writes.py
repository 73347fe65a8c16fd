"""Finds writes of a control that has lost its lease: the database itself notes, at each commit, who holds the lease."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg

WATCHING = """
    CREATE SCHEMA watch;
    CREATE TABLE watch.holders (number BIGSERIAL PRIMARY KEY, control TEXT NOT NULL, holder TEXT NOT NULL);
    CREATE TABLE watch.late (control TEXT NOT NULL, holder TEXT NOT NULL, place TEXT NOT NULL);
    CREATE SEQUENCE watch.rows_written;
    CREATE FUNCTION watch.held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO watch.holders (control, holder) VALUES (current_setting('application_name'), NEW.holder);
        RETURN NULL;
    END $$;
    CREATE FUNCTION watch.committed() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE latest TEXT; BEGIN
        SELECT control INTO latest FROM watch.holders ORDER BY number DESC LIMIT 1;
        IF latest <> current_setting('application_name') THEN
            INSERT INTO watch.late
                VALUES (current_setting('application_name'), latest, TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME);
        END IF;
        PERFORM nextval('watch.rows_written');
        RETURN NULL;
    END $$;
    CREATE TRIGGER held AFTER UPDATE OF holder ON torpor.torpor_state
        FOR EACH ROW WHEN (NEW.holder <> OLD.holder AND NEW.holder <> '') EXECUTE FUNCTION watch.held();
"""
EACH_TABLE = """
    SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_schema LIKE 'torpor%' AND table_type = 'BASE TABLE' AND table_name <> 'torpor_state'
"""
AT_COMMIT = """
    CREATE CONSTRAINT TRIGGER committed AFTER INSERT OR UPDATE OR DELETE ON {schema}.{table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION watch.committed()
"""


class LateWrite(NamedTuple):
    """A row that `control` committed into `place` while `holder` had the lease."""

    control: str
    holder: str
    place: str


class WriteWatch:
    """Watches the schemas of a deployment whose first control has made them. A control is known by the
    `application_name` of its connections."""

    def __init__(self, url: str, first: str) -> None:
        self._url = url
        with self._connected() as connection:
            connection.execute(WATCHING)
            connection.execute("INSERT INTO watch.holders (control, holder) VALUES (%s, 'first')", (first,))
            for schema, table in connection.execute(EACH_TABLE).fetchall():
                connection.execute(AT_COMMIT.format(schema=schema, table=table))

    def holder(self) -> str:
        """The control that has the lease."""
        return str(self._rows("SELECT control FROM watch.holders ORDER BY number DESC LIMIT 1")[0][0])

    def rows_written(self) -> int:
        """The rows that all controls have committed."""
        return int(self._rows("SELECT last_value FROM watch.rows_written")[0][0])

    def late(self) -> list[LateWrite]:
        return [LateWrite(*row) for row in self._rows("SELECT * FROM watch.late")]

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self._connected() as connection:
            return connection.execute(statement).fetchall()

    @contextmanager
    def _connected(self) -> "Iterator[psycopg.Connection[tuple[Any, ...]]]":
        with psycopg.connect(self._url, autocommit=True) as connection:
            yield connection
