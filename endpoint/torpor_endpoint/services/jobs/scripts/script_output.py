"""Writes a script's output to one file, up to a limit, and remembers its last line for error messages."""

from pathlib import Path
from types import TracebackType
from typing import Self

LIMIT_BYTES = 16 * 1024 * 1024
TAIL_BYTES = 4096
THE_REST = b"\n[The output is longer; the rest of it is not kept.]\n"


class Output:
    """The output file of one job. Output beyond the limit is read and dropped, so that it never blocks the script."""

    def __init__(self, path: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._left_bytes = limit_bytes
        self._tail = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def write(self, piece: bytes) -> None:
        self._tail = (self._tail + piece)[-TAIL_BYTES:]
        written = piece[: self._left_bytes]
        self._left_bytes -= len(written)
        try:
            self._file.write(written)
            if written and not self._left_bytes:
                self._file.write(THE_REST)
        except OSError:  # the disk is full: the script may still succeed
            self._left_bytes = 0

    @property
    def last_line(self) -> str:
        lines = self._tail.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def log_path(folder: Path, job: str, now_s: float) -> Path:
    """The log's path. `<job>/algo-1-<epoch>` is the stream's name in CloudWatch Logs."""
    return folder / job / f"algo-1-{int(now_s)}.log"
