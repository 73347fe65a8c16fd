"""Stores the tags of all services' resources in the endpoint's database, by ARN."""

from collections.abc import Iterable, Mapping

from torpor_account.storage.databases.database import Database


def reserved_key(keys: Iterable[str]) -> str | None:
    """The first key that no caller may give: AWS keeps `aws:`, in any letter case, for its own."""
    return next((key for key in keys if key.lower().startswith("aws:")), None)


class Tags:
    """Any thread may call its methods. It knows no resource: whoever removes one forgets its tags."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, arn: str) -> dict[str, str]:
        """The tags, in order of their keys."""
        return dict(self._database.rows("SELECT key, value FROM tags WHERE arn = ? ORDER BY key", arn))

    def put(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add the tags, or give them new values."""
        with self._database.transaction():
            self.put_within(arn, tags)

    def put_within(self, arn: str, tags: Mapping[str, str]) -> None:
        """As `put`, inside a transaction of the caller."""
        rows = ((arn, key, value) for key, value in tags.items())
        self._database.write_many(
            "INSERT INTO tags VALUES (?, ?, ?) ON CONFLICT (arn, key) DO UPDATE SET value = excluded.value", rows
        )

    def add(self, arn: str, tags: Mapping[str, str], most: int) -> bool:
        """Add the tags. False, without a change, if there would be more than `most`."""
        with self._database.transaction():
            fits = len({**self.of(arn), **tags}) <= most
            if fits:
                self.put_within(arn, tags)
        return fits

    def remove(self, arn: str, keys: Iterable[str]) -> None:
        with self._database.transaction():
            self._database.write_many("DELETE FROM tags WHERE arn = ? AND key = ?", ((arn, key) for key in keys))

    def forget(self, arn: str) -> None:
        """Remove all tags of the ARN; also inside a transaction."""
        self._database.changed("DELETE FROM tags WHERE arn = ?", arn)
