"""The sessions of the dashboard: kept in the database, so that a restart ends none, and held in memory.

Of a session's token only its digest is kept. A session ends by itself, at logout, and with its access key.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from torpor_account.core.pages.logins import LASTS_S, digest_of
from torpor_account.iam.identities.directory import Directory, KnownKey
from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable

SESSIONS_MAX = 1_000
OF_KEY_MAX = 20
"""The most sessions at all, and of one access key. The oldest one ends for another."""


@dataclass(frozen=True)
class PageSession:
    """A browser that has logged in. `name` is the digest of its token."""

    name: str
    access_key: str
    began_s: float


class PageSessions:
    """Any thread may call it. `clock` gives epoch seconds."""

    def __init__(self, database: Database, directory: Directory, clock: Callable[[], float]) -> None:
        self._table = RecordTable(database, "page_sessions", PageSession, key=str)
        self._directory = directory
        self._clock = clock
        self._lock = Lock()
        self._live = {session.name: session for session in self._table.all()}
        self.end_stale()

    def begin(self, access_key: str) -> str:
        """Begin a session of a key that was verified. Returns its token, which is not kept."""
        token = secrets.token_urlsafe(32)
        session = PageSession(digest_of(token), access_key, self._clock())
        self.end_stale()
        with self._lock:
            oldest_first = sorted(self._live.values(), key=lambda one: one.began_s)
            of_key = [one for one in oldest_first if one.access_key == access_key]
            too_many = [*of_key[: max(0, len(of_key) + 1 - OF_KEY_MAX)]]
            too_many += oldest_first[: max(0, len(oldest_first) + 1 - SESSIONS_MAX)]
            self._live[session.name] = session
            self._table.put(session)
        for one in too_many:
            self._end(one)
        return token

    def known(self, token: str) -> KnownKey | None:
        """The access key of a session that lasts; None for any other token."""
        session = self._live.get(digest_of(token))
        if session is None or self._is_over(session):
            return None
        known = self._directory.find(session.access_key)
        return known if known is not None and known.active else None

    def end(self, token: str) -> None:
        """End the session of this token, if there is one."""
        session = self._live.get(digest_of(token))
        if session is not None:
            self._end(session)

    def end_stale(self) -> None:
        """End the sessions that have lasted, and those whose access key is gone or inactive."""
        for session in list(self._live.values()):
            known = self._directory.find(session.access_key)
            if known is None or not known.active or self._is_over(session):
                self._end(session)

    def _is_over(self, session: PageSession) -> bool:
        return not session.began_s <= self._clock() < session.began_s + LASTS_S

    def _end(self, session: PageSession) -> None:
        with self._lock:
            self._live.pop(session.name, None)
            self._table.remove(session.name)
