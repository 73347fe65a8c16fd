"""The table of the choices of models of groups: a row for each minute, group, need and model that answered."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from torpor_account.storage.databases.database import Database
from torpor_endpoint.core.ledger import minute_of
from torpor_endpoint.core.model_choice.made_choices import ChoiceKey, MadeChoices

CHOICES: Final = """
    ALTER TABLE cold_starts ADD COLUMN choice TEXT NOT NULL DEFAULT '';
    CREATE TABLE choices (
        minute_s INTEGER NOT NULL, endpoint TEXT NOT NULL, variant TEXT NOT NULL, group_name TEXT NOT NULL,
        need TEXT NOT NULL, model TEXT NOT NULL, at_s REAL NOT NULL, requests INTEGER NOT NULL, why TEXT NOT NULL,
        PRIMARY KEY (minute_s, endpoint, variant, group_name, need, model)
    ) WITHOUT ROWID;
    """
"""The step of the database's schema that made the table."""
_ADD: Final = """INSERT INTO choices (minute_s, endpoint, variant, group_name, need, model, at_s, requests, why)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (minute_s, endpoint, variant, group_name, need, model) DO UPDATE SET
    requests = choices.requests + excluded.requests, at_s = excluded.at_s, why = excluded.why"""


def choice_key(made: MadeChoices) -> ChoiceKey:
    return ChoiceKey(minute_of(made.at_s), made.endpoint, made.variant, made.group_name, made.need, made.model)


def merge_choices(into: dict[ChoiceKey, MadeChoices], made: MadeChoices) -> None:
    """Add choices to those of the same key. The later ones say why."""
    key = choice_key(made)
    before = into.get(key)
    into[key] = made if before is None else replace(made, requests=before.requests + made.requests)


def add_choices(database: Database, choices: Iterable[tuple[ChoiceKey, MadeChoices]]) -> None:
    """Write the choices within a transaction. Lone surrogates of names become question marks: SQLite refuses them."""
    rows = (
        [
            one.encode(errors="replace").decode() if isinstance(one, str) else one
            for one in (*key, made.at_s, made.requests, made.why)
        ]
        for key, made in choices
    )
    database.write_many(_ADD, map(tuple, rows))


def prune_choices(database: Database, most: int, old_s: float) -> None:
    """Remove the rows of minutes before a time, and the oldest minutes while there are more than `most` rows."""
    database.rows("DELETE FROM choices WHERE minute_s < ?", old_s)
    for (minute_s,) in database.rows("SELECT minute_s FROM choices ORDER BY minute_s DESC LIMIT 1 OFFSET ?", most):
        database.rows("DELETE FROM choices WHERE minute_s <= ?", minute_s)


def latest_choices(database: Database, endpoint: str, name: str, limit: int) -> list[MadeChoices]:
    """The latest choices of a group, or those by which a model answered, oldest first."""
    rows = database.rows(
        "SELECT at_s, endpoint, variant, group_name, need, model, requests, why FROM choices "
        "WHERE endpoint = ?1 AND (group_name = ?2 OR model = ?2) "
        "ORDER BY minute_s DESC, at_s DESC, group_name, need, model LIMIT ?3",
        *(endpoint, name, limit),
    )
    return [MadeChoices(*row) for row in reversed(rows)]
