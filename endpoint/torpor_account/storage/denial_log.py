"""Keeps the latest denials over restarts, for the page that shows them.

Callers that are refused make this file grow, so it is bounded. The refused caller waits for the write; it runs on a
thread. A file that cannot be read keeps no endpoint from starting: the log says so, and new denials are added to it.
"""

import json
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from torpor_account.core.access.explaining.denial import Denial
from torpor_account.core.pages.denials import LIMIT
from torpor_container.typed_json import read, written

KEPT = 1_000
"""How many denials are kept. The file has at most twice as many lines."""
MODE = 0o600

log = logging.getLogger(__name__)


class DenialLog:
    """The latest denials, in memory and in a file of JSON lines. For any thread. `clock` gives epoch seconds."""

    def __init__(self, path: Path, clock: Callable[[], float], kept: int = KEPT) -> None:
        self._path = path
        self._clock = clock
        self._latest: deque[Denial] = deque(maxlen=kept)
        self._lines = 0
        self._turn = Lock()
        for line in self._stored():
            self._lines += 1
            self._latest += _read(line)

    def add(self, denied: Denial, request_id: str) -> None:
        """Keep a denial of now under the id that its caller sees."""
        self.keep([replace(denied, request_id=request_id, at_s=self._clock())])

    def keep(self, denials: Sequence[Denial]) -> None:
        """Keep denials that have their ids and times. For any thread."""
        with self._turn:
            self._latest += denials
            try:
                if self._lines + len(denials) > 2 * (self._latest.maxlen or 1):
                    self._write(self._latest, os.O_TRUNC)
                    self._lines = len(self._latest)
                else:
                    self._write(denials, os.O_APPEND)
                    self._lines += len(denials)
            except OSError as error:
                log.warning("a denial is kept in memory only: %s", error)

    def found(self, request_id: str | None = None, limit: int = LIMIT) -> list[Denial]:
        """The denials of a request, or the latest ones; the newest first."""
        with self._turn:
            latest = list(self._latest)
        newest_first = (one for one in reversed(latest) if request_id in (None, one.request_id))
        return [one for one, _ in zip(newest_first, range(limit), strict=False)]

    def _stored(self) -> list[str]:
        try:
            return self._path.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("the denials of earlier cannot be read: %s", error)
            return []

    def _write(self, denials: Iterable[Denial], how: int) -> None:
        text = "".join(f"{json.dumps(written(one), separators=(',', ':'))}\n" for one in denials)
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | how, MODE), "w") as file:
            file.write(text)


def _read(line: str) -> Iterator[Denial]:
    """The denial in a line; none in one that a crash cut off, or that another version wrote."""
    try:
        yield read(Denial, json.loads(line))
    except ValueError:
        log.warning("a line of the denials cannot be read, and is left out")
