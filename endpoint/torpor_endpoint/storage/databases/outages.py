"""Says in the log when a database cannot be used, and when it can again: one line each, however many callers fail."""

import logging
from threading import Lock

log = logging.getLogger(__name__)


class DatabaseOutage:
    """Of one database, for any thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = Lock()
        self._lasts = False

    def began(self, why: str) -> None:
        """The machine failed the database."""
        with self._lock:
            told, self._lasts = self._lasts, True
        if not told:
            log.error("the database %s cannot be used, and what needs it fails or waits: %s", self._name, why)

    def ended(self) -> None:
        """The database did what it was told."""
        if not self._lasts:
            return
        with self._lock:
            told, self._lasts = self._lasts, False
        if told:
            log.warning("the database %s can be used again", self._name)
