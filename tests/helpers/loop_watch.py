"""Watches the event loop and the memory of another process, by processor time and by blocks."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.helpers import watched_loop
from tests.helpers.waiting import until


class Seen(NamedTuple):
    """The most processor time of one callback since the last look, and the memory blocks of Python's that are in
    use."""

    longest_ms: float
    blocks: int


class LoopWatch:
    """Start the process with `variables`, and then say its `pid`."""

    def __init__(self, folder: Path) -> None:
        self._told = folder / "loop"
        self._told.touch()
        self.pid = 0

    @property
    def variables(self) -> Mapping[str, str]:
        path = filter(None, [str(Path(watched_loop.__file__).parent), os.environ.get("PYTHONPATH")])
        return {"PYTHONPATH": os.pathsep.join(path), "LOOP_WATCHED": str(self._told)}

    def look(self) -> Seen:
        lines = self._told.read_text().count("\n")
        os.kill(self.pid, signal.SIGRTMIN)
        until(lambda: self._told.read_text().count("\n") > lines)
        longest_ms, blocks = self._told.read_text().splitlines()[-1].split()
        return Seen(float(longest_ms), int(blocks))
