"""Sessions are kept over a restart, bounded, and end with their time and their key."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from tests.account.helpers.in_memory_iam import ACCOUNT, NOW_S, database
from torpor_account.access.login.page_sessions import OF_KEY_MAX, PageSessions
from torpor_account.core.pages.logins import LASTS_S
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.iam.identity_records import AccessKey, User
from torpor_account.storage.databases.database import Database
from torpor_account.storage.tag_store import Tags


@dataclass
class House:
    """An account with the user ann and her key, at a time that the test sets."""

    database: Database
    now_s: float = NOW_S
    iam: Iam = field(init=False)
    directory: Directory = field(init=False)

    def __post_init__(self) -> None:
        self.iam = Iam(self.database, Tags(self.database), lambda: self.now_s)
        self.directory = Directory(self.iam, ACCOUNT, KeyPair("AKIAROOT", "r"))
        self.iam.users.put(User("ann", "AIDA", NOW_S))
        self.iam.keys.put(AccessKey("AKIAANN", "ann", NOW_S, "secret"))

    def sessions(self) -> PageSessions:
        """As after a start."""
        return PageSessions(self.database, self.directory, lambda: self.now_s)


@pytest.fixture
def house() -> Iterator[House]:
    with database() as found:
        yield House(found)


def test_a_session_lasts_over_a_restart_until_logout(house: House) -> None:
    token = house.sessions().begin("AKIAANN")
    restarted = house.sessions()
    known = restarted.known(token)
    assert known is not None
    assert known.principal.name == "ann"
    assert restarted.known(f"{token}x") is None
    restarted.end(token)
    assert restarted.known(token) is None
    assert house.sessions().known(token) is None


def test_a_session_ends_after_its_time(house: House) -> None:
    sessions = house.sessions()
    token = sessions.begin("AKIAANN")
    house.now_s += LASTS_S - 1
    assert sessions.known(token) is not None
    house.now_s += 1
    assert sessions.known(token) is None


def test_a_session_ends_for_good_when_its_key_does(house: House) -> None:
    sessions = house.sessions()
    house.directory.when_forgotten(sessions.end_stale)
    token, roots = sessions.begin("AKIAANN"), sessions.begin("AKIAROOT")
    key = house.iam.keys.get("AKIAANN")
    assert key is not None
    for active in (False, True):
        house.iam.keys.put(replace(key, active=active))
        house.directory.forget()
    assert sessions.known(token) is None
    assert sessions.known(roots) is not None


def test_a_key_has_so_many_sessions_and_the_oldest_gives_way(house: House) -> None:
    sessions = house.sessions()
    tokens = []
    for _ in range(OF_KEY_MAX + 1):
        house.now_s += 1
        tokens.append(sessions.begin("AKIAANN"))
    assert [sessions.known(token) is not None for token in tokens] == [False, *[True] * OF_KEY_MAX]
    assert len(house.database.rows("SELECT key FROM page_sessions")) == OF_KEY_MAX


def test_no_token_is_stored(house: House) -> None:
    token = house.sessions().begin("AKIAANN")
    ((key, name, record),) = house.database.rows("SELECT key, name, record FROM page_sessions")
    assert token not in f"{key} {name} {record}"
