"""Finds the model whose prediction ended an instance. The next instance of the slot counts these ends, and
quarantines the model.

While a model that was not proved sound predicts, a file in the slot's folder has its verdict's key and its thread. A
process that ends by SIGSEGV, SIGABRT, SIGBUS, SIGFPE or SIGILL writes which thread that was (`faulthandler`). A process
that is killed, or exits, writes nothing, and no model is suspected.
"""

import faulthandler
import mmap
import re
import struct
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from torpor_container.core.trials import after_death
from torpor_container.formats import ServableModel
from torpor_container.invocation import Invocation, Reply
from torpor_container.trials.verdicts import Verdicts

MARKS, CRASH = "predicting", "crash.log"
_MARK = struct.Struct("<Q32s")
_NOTHING = bytes(_MARK.size)
MARKS_MAX = 256
"""How many threads of an instance are watched. Predictions on further threads are not."""
_THREAD = re.compile(rb"Current thread 0x([0-9a-f]+)")
_HOW = re.compile(rb"Fatal Python error: ([^\n]+)")


class Suspects:
    """Records which model predicts now, in a file that outlives this process. One process at a time uses a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKS).write_bytes(_NOTHING * MARKS_MAX)
        with (folder / MARKS).open("r+b") as file:
            self._marks = mmap.mmap(file.fileno(), 0)
        self._crash: IO[bytes] = (folder / CRASH).open("wb")
        self._free = list(range(MARKS_MAX))
        self._thread = threading.local()

    def watch(self) -> None:
        """Make this process write which thread ends it, from now on."""
        faulthandler.enable(self._crash, all_threads=True)  # otherwise it does not write which thread it is

    def watched(self, model: ServableModel, key: str) -> ServableModel:
        """The same model, with its predictions recorded in the file while they run. `key` is that of its verdict."""
        return _Watched(model, key.encode(), self)

    def enter(self, key: bytes) -> int:
        """Record a prediction of this thread. Its place in the file; -1 if no place is free."""
        try:
            at: int = self._thread.at
        except AttributeError:
            at = self._thread.at = self._free.pop() * _MARK.size if self._free else -1
        if at >= 0:
            _MARK.pack_into(self._marks, at, threading.get_ident(), key)
        return at

    def leave(self, at: int) -> None:
        """Remove the record of a prediction."""
        if at >= 0:
            self._marks[at : at + _MARK.size] = _NOTHING


class _Watched:
    """A model whose predictions are recorded."""

    def __init__(self, model: ServableModel, key: bytes, suspects: Suspects) -> None:
        self.format, self.rowwise, self.foreign = model.format, model.rowwise, model.foreign
        self.mapped = model.mapped
        self.model = model
        self.key = key
        self.suspects = suspects

    def invoke(self, invocation: Invocation) -> Reply:
        at = self.suspects.enter(self.key)
        try:
            return self.model.invoke(invocation)
        finally:
            self.suspects.leave(at)

    def invoke_together(self, invocations: Sequence[Invocation]) -> list[Reply | Exception]:
        at = self.suspects.enter(self.key)
        try:
            return self.model.invoke_together(invocations)
        finally:
            self.suspects.leave(at)

    def give_way(self, other: "_Watched") -> None:
        self.model.give_way(other.model)

    def close(self) -> None:
        self.model.close()


def judge(folder: Path, verdicts: Verdicts) -> str | None:
    """Count the last end of an instance against the model that predicted on the thread that ended it. The key of its
    verdict; None if there is no such model."""
    try:
        crash, marks = (folder / CRASH).read_bytes(), (folder / MARKS).read_bytes()
    except OSError:
        return None
    thread, how = _THREAD.search(crash), _HOW.search(crash)
    if thread is None or how is None:
        return None
    ident = int(thread[1], 16)
    guilty = next((name.decode() for mark, name in _marks(marks) if mark == ident), "")
    if not guilty or (known := verdicts.read(guilty)) is None:
        return None
    verdicts.write(guilty, after_death(known, how[1].decode(errors="replace")))
    return guilty


def _marks(marks: bytes) -> Iterator[tuple[int, bytes]]:
    whole = len(marks) - len(marks) % _MARK.size
    yield from _MARK.iter_unpack(marks[:whole])
