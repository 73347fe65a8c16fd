"""Counts the calls that another process makes for some requests: the same on every machine, however busy."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import pytest

from tests.helpers import call_counter
from tests.helpers.waiting import until

WINDOWS = 300


class Calls(NamedTuple):
    """How many functions were called: all of them, C's too, and Python's alone."""

    all: float
    python: float


class CallWindows:
    """The windows in which the calls of one process are counted: of its main thread, or of all `threads`. Start it with
    `variables`, and then say its `pid`."""

    def __init__(self, folder: Path, threads: bool = False) -> None:
        self._threads = threads
        self._told = folder / "calls"
        self._told.touch()
        self.pid = 0

    @property
    def variables(self) -> Mapping[str, str]:
        path = filter(None, [str(Path(call_counter.__file__).parent), os.environ.get("PYTHONPATH")])
        threads = {"CALLS_OF_THREADS": "all"} if self._threads else {}
        return {"PYTHONPATH": os.pathsep.join(path), "CALLS_COUNTED": str(self._told), **threads}

    def of(self, requests: int, send: Callable[[], None]) -> Calls:
        """The calls for each of so many requests that `send` sends, from their first byte until the process rests."""
        before = self._lines()
        os.kill(self.pid, signal.SIGRTMIN)
        until(lambda: self._lines() == before + 1)
        send()
        until(self._rests)  # or a signal would meet it before or after what it does behind an answer, as chance has it
        os.kill(self.pid, signal.SIGRTMIN)
        until(lambda: self._lines() == before + 2)
        counted = map(int, self._told.read_text().splitlines()[-1].split())
        return Calls(*(calls / requests for calls in counted))

    def _rests(self) -> bool:
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"

    def _lines(self) -> int:
        return self._told.read_text().count("\n")

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """Stops the process for the block: what comes meanwhile is all there as it goes on."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def check(
        self,
        bound: Calls,
        requests: int,
        send: Callable[[], None],
        within_s: float = 0.0,
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        """Fails if no window has so few calls. One window is enough: chores of the process fall into some, and on a
        busy machine an answer comes in pieces. A call that each request makes more shows in all of them. Until
        `within_s` is over, more windows are looked at: a model may get its faster form late. `rest` waits before each
        window until the process has ended what earlier requests left behind them."""
        found: list[Calls] = []
        until_s = monotonic() + within_s
        while len(found) < WINDOWS or monotonic() < until_s:
            rest()
            calls = self.of(requests, send)
            if calls.all <= bound.all and calls.python <= bound.python:
                return
            found.append(calls)
        pytest.fail(f"of {len(found)} windows, the least has {min(found)} for each request, and {bound} are allowed")
