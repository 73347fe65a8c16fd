"""Stores the marks of log files beside the files, so that the times of lines survive a restart. Thread-safe."""

import os
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Lock

from torpor_account.core.file_growth import Marks

CACHED = 1000
"""The most files whose marks are also in memory."""


class LogMarks:
    """The marks of `<name>.log` are in `<name>.marks`: the generation, then an offset and a time on each line."""

    def __init__(self, ahead_s: Callable[[], float] = lambda: 0.0) -> None:
        """`ahead_s` is how far the endpoint's clock is ahead of that of the files."""
        self._ahead_s = ahead_s
        self._lock = Lock()
        self._known: OrderedDict[Path, Marks] = OrderedDict()

    def noted(self, log: Path) -> Marks:
        """The file's marks, with a new one if the file has grown. Raises FileNotFoundError."""
        with self._lock:
            found = log.stat()
            known = self._known.pop(log, None) or _read(log)
            marks = known.noted(found.st_size, found.st_mtime_ns // 1_000_000 + round(self._ahead_s() * 1000))
            if marks is not known:
                _write(log, known, marks)
            self._known[log] = marks
            if len(self._known) > CACHED:
                self._known.popitem(last=False)
            return marks

    def put(self, log: Path, marks: Marks) -> None:
        """Store the marks of a file that was written elsewhere."""
        with self._lock:
            self._known.pop(log, None)
            _write(log, Marks(), marks)

    def forget(self, log: Path) -> None:
        """Remove the marks of a file that is deleted."""
        with self._lock:
            self._known.pop(log, None)
            _beside(log).unlink(missing_ok=True)


def _beside(log: Path) -> Path:
    return log.with_suffix(".marks")


def _read(log: Path) -> Marks:
    """The stored marks; empty if they cannot be read: then the whole log has the time of its last write."""
    with suppress(FileNotFoundError, ValueError):
        text = _beside(log).read_text()
        complete = text[: text.rfind("\n") + 1]
        if complete != text:  # the machine stopped during a write
            os.truncate(_beside(log), len(complete))
        generation, *marks = complete.splitlines()
        pairs = [(int(offset), int(at_ms)) for offset, at_ms in map(str.split, marks)]
        if all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(pairs)):
            return Marks(int(generation), tuple(offset for offset, _ in pairs), tuple(at_ms for _, at_ms in pairs))
    return Marks()


def _write(log: Path, known: Marks, marks: Marks) -> None:
    added = list(zip(marks.offsets, marks.times_ms, strict=True))
    if known.offsets and marks.offsets[:-1] == known.offsets:  # one more mark, as nearly always
        with _beside(log).open("a") as file:
            file.write(_lines(added[-1:]))
        return
    fresh = log.with_suffix(".marks-new")
    fresh.write_text(f"{marks.generation}\n{_lines(added)}")
    os.replace(fresh, _beside(log))


def _lines(pairs: list[tuple[int, int]]) -> str:
    return "".join(f"{offset} {at_ms}\n" for offset, at_ms in pairs)
