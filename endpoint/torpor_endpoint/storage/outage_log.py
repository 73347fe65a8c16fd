"""Says in the log when the machine fails some work, and when it works again: one line each, however much work fails."""

import logging
from threading import Lock

log = logging.getLogger(__name__)


class OutageLog:
    """The outages that one kind of work meets. For any thread."""

    def __init__(self, began: str, ended: str) -> None:
        """`began` and `ended` are the lines, each without its end; the reason follows the first."""
        self._began = began
        self._ended = ended
        self._lock = Lock()
        self._lasts = False

    def began(self, why: object) -> None:
        """The machine failed the work."""
        with self._lock:
            told, self._lasts = self._lasts, True
        if not told:
            log.error("%s: %s", self._began, why)

    def ended(self) -> None:
        """The work succeeded."""
        if not self._lasts:
            return
        with self._lock:
            told, self._lasts = self._lasts, False
        if told:
            log.warning("%s", self._ended)
