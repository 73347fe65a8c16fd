"""A log file's lines between two offsets, from either end, a block at a time; never the whole file in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK_BYTES = 64 * 1024
LINE_MAX_BYTES = 256 * 1024
"""A longer line is several: "Each log event can be no larger than 256 KB" was AWS's limit for long."""


@dataclass(frozen=True)
class LogLine:
    """`raw` has its line break, unless it is a piece."""

    start: int
    raw: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.raw)

    @property
    def text(self) -> str:
        return self.raw.rstrip(b"\r\n").decode(errors="replace")


def forward(log: Path, start: int, stop: int) -> Iterator[LogLine]:
    """Oldest first. The file is open only while a block is read: there may be many readers."""
    while start < stop and (block := _block(log, start, stop)):
        yield from block
        start = block[-1].end


def backward(log: Path, start: int, stop: int) -> Iterator[LogLine]:
    """Newest first. `start` is where a line begins."""
    while start < stop and (block := _block_before(log, start, stop)):
        yield from reversed(block)
        stop = block[0].start


def aligned(log: Path, offset: int) -> int:
    """Where the first line begins that begins at `offset` or later."""
    if offset == 0:
        return 0
    with log.open("rb") as file:
        file.seek(offset - 1)
        while (piece := file.readline(LINE_MAX_BYTES)) and not piece.endswith(b"\n"):
            pass
        return file.tell()


def whole(log: Path, stop: int) -> int:
    """Where the last line that has its line break ends, at or before `stop`; `stop` itself if that line is too long."""
    begin = max(0, stop - LINE_MAX_BYTES)
    with log.open("rb") as file:
        file.seek(begin)
        raw = file.read(stop - begin)
    end = raw.rfind(b"\n") + 1
    return begin + end if end or begin == 0 else stop


def _block(log: Path, start: int, stop: int) -> list[LogLine]:
    lines: list[LogLine] = []
    at = start
    with log.open("rb") as file:
        file.seek(start)
        while at < min(start + BLOCK_BYTES, stop) and (raw := file.readline(min(LINE_MAX_BYTES, stop - at))):
            lines.append(LogLine(at, raw))
            at += len(raw)
    return lines


def _block_before(log: Path, start: int, stop: int) -> list[LogLine]:
    for span in (BLOCK_BYTES, LINE_MAX_BYTES):
        begin = max(start, stop - span)
        with log.open("rb") as file:
            file.seek(begin)
            raw = file.read(stop - begin)
        cut = 0 if begin == start else raw.find(b"\n", 0, -1) + 1  # else its first line began earlier
        if cut or begin == start:
            break
    lines: list[LogLine] = []
    for one in _split(raw[cut:]):
        lines.append(LogLine(lines[-1].end if lines else begin + cut, one))
    return lines


def _split(raw: bytes) -> list[bytes]:
    """At line breaks only, unlike `splitlines`."""
    *lines, rest = raw.split(b"\n")
    return [line + b"\n" for line in lines] + ([rest] if rest else [])
