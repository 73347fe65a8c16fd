"""What the control publishes of those who may call is what its tables have, however many routers ask at once."""

import json
from collections.abc import Callable
from threading import Event, Thread, current_thread
from typing import Any

import pytest

from torpor_account.iam.identities.ids import KeyPair
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.routing.control.identity_publisher import IdentityPublisher
from torpor_endpoint.routing.protocol import identities as published
from torpor_endpoint.storage.schema import RECORDS

OWNER = KeyPair("root", "secret")
OTHER_TURN_S = 0.2
"""How long a thread waits for another one, which may have to wait for it."""


class Tables(SqliteFile):
    """`between` runs before the tags are read, after all other tables."""

    def __init__(self) -> None:
        super().__init__(":memory:", RECORDS)
        self.between: Callable[[], object] = lambda: None
        with self.transaction():
            self.rows("INSERT INTO access_keys VALUES ('leaked', 'leaked', '{}')")
            self.rows("INSERT INTO tags VALUES ('leaked', 'owner', 'ann')")

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        if "FROM tags ORDER" in statement:
            self.between()
        return super().rows(statement, *values)

    def revoke(self) -> None:
        with self.transaction():
            self.changed("DELETE FROM access_keys")
            self.changed("DELETE FROM tags")


def test_a_deleted_key_is_never_published_as_current(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Tables()
    publisher = IdentityPublisher(database, OWNER)
    slow_has_read, later_digests, slow_is_done = Event(), Event(), Event()

    def slow() -> None:
        publisher.identities()
        slow_is_done.set()

    def later() -> None:
        database.revoke()
        publisher.identities()

    threads = slow_one, later_one = Thread(target=slow), Thread(target=later)

    def slow_waits() -> None:
        if current_thread() is slow_one:
            slow_has_read.set()
            later_digests.wait(OTHER_TURN_S)

    def later_waits(*given: Any, **named: Any) -> str:
        if current_thread() is later_one:
            later_digests.set()
            slow_is_done.wait(OTHER_TURN_S)
        return json.dumps(*given, **named)

    database.between = slow_waits
    monkeypatch.setattr(published, "dumps", later_waits)
    slow_one.start()
    slow_has_read.wait()
    later_one.start()
    for thread in threads:
        thread.join()
    assert publisher.identities()[1].tables["access_keys"] == ()
    database.close()


def test_all_tables_are_read_at_one_moment() -> None:
    database = Tables()
    publisher = IdentityPublisher(database, OWNER)
    revoking = Thread(target=database.revoke)

    def revoke() -> None:
        if not revoking.ident:
            revoking.start()
            revoking.join(OTHER_TURN_S)

    database.between = revoke
    _, found = publisher.identities()
    assert (len(found.tables["access_keys"]), len(found.tags)) == (1, 1)
    revoking.join()
    _, found = publisher.identities()
    assert (len(found.tables["access_keys"]), len(found.tags)) == (0, 0)
    database.close()
