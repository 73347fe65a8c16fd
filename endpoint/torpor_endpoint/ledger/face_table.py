"""The table of what came by other protocols than SageMaker's: a row for each minute, variant and face."""

from collections.abc import Iterable
from typing import Final

from torpor_account.storage.databases.database import Database
from torpor_endpoint.core.ledger import FaceKey, FaceSums

FACES: Final = """
    CREATE TABLE faces (
        minute_s INTEGER NOT NULL, endpoint TEXT NOT NULL, variant TEXT NOT NULL, face TEXT NOT NULL,
        requests INTEGER NOT NULL, cold INTEGER NOT NULL, errors INTEGER NOT NULL, total_s REAL NOT NULL,
        busy_s REAL NOT NULL, PRIMARY KEY (minute_s, endpoint, variant, face)
    ) WITHOUT ROWID;
    """
"""The step of the database's schema that made the table."""
_SUMS: Final = ("requests", "cold", "errors", "total_s", "busy_s")
_ADD: Final = f"""INSERT INTO faces (minute_s, endpoint, variant, face, {", ".join(_SUMS)})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (minute_s, endpoint, variant, face) DO UPDATE SET
    {", ".join(f"{name} = faces.{name} + excluded.{name}" for name in _SUMS)}"""


def add_faces(database: Database, faces: Iterable[tuple[FaceKey, FaceSums]]) -> None:
    """Add the sums to their rows, within a transaction."""
    rows = ((*key, *(getattr(sums, name) for name in _SUMS)) for key, sums in faces)
    database.write_many(_ADD, rows)


def faces_of(
    database: Database, endpoint: str | None, since_s: float, until_s: float
) -> dict[tuple[str, str], list[tuple[str, FaceSums]]]:
    """By endpoint and variant, each face with its sums over the minutes that begin in the window, by its name."""
    rows = database.rows(
        f"SELECT endpoint, variant, face, {', '.join(f'sum({name})' for name in _SUMS)} FROM faces "
        "WHERE minute_s >= ?1 AND minute_s < ?2 AND (?3 IS NULL OR endpoint = ?3) "
        "GROUP BY endpoint, variant, face ORDER BY face",
        *(since_s, until_s, endpoint),
    )
    found: dict[tuple[str, str], list[tuple[str, FaceSums]]] = {}
    for endpoint_name, variant, face, *sums in rows:
        found.setdefault((endpoint_name, variant), []).append((face, FaceSums(*sums)))
    return found
