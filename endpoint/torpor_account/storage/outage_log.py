"""Says in the log when the machine fails some work, and when it works again: one line each, however much work fails."""

import logging
import time
from math import inf
from threading import Lock

QUIET_S = 30.0
"""An outage that begins so soon after the last one belongs to it: a disk that is nearly full takes some writes."""

log = logging.getLogger(__name__)


class OutageLog:
    """The outages that one kind of work meets. For any thread."""

    def __init__(self, began: str, ended: str) -> None:
        """`began` and `ended` are the lines, each without its end; the reason follows the first."""
        self._began = began
        self._ended = ended
        self._lock = Lock()
        self._lasts = False
        self._told_s = -inf

    def began(self, why: object) -> None:
        """The machine failed the work."""
        now_s = time.monotonic()
        with self._lock:
            tells = not self._lasts and now_s - self._told_s > QUIET_S
            self._lasts = self._lasts or tells
            self._told_s = now_s if tells else self._told_s
        if tells:
            log.error("%s: %s", self._began, why)

    def ended(self) -> None:
        """The work succeeded."""
        if not self._lasts:
            return
        with self._lock:
            told, self._lasts = self._lasts, False
        if told:
            log.warning("%s", self._ended)
