"""Reads a log file's lines between two offsets, forward or backward, block by block: never the whole file at once."""

from collections.abc import Iterator
from pathlib import Path

from torpor_container.frozen_class import frozen

BLOCK_BYTES = 64 * 1024
LINE_MAX_BYTES = 256 * 1024
"""A longer line is split: "Each log event can be no larger than 256 KB" was long AWS's limit."""


@frozen
class LogLine:
    """One line, or a piece of a long one. `raw` includes the line break, if there is one."""

    start: int
    raw: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.raw)

    @property
    def text(self) -> str:
        return self.raw.rstrip(b"\r\n").decode(errors="replace")


def forward(log: Path, start: int, stop: int) -> Iterator[LogLine]:
    """The lines, oldest first. The file is open only while a block is read, since there may be many readers."""
    while start < stop and (block := _block(log, start, stop)):
        yield from block
        start = block[-1].end


def backward(log: Path, start: int, stop: int) -> Iterator[LogLine]:
    """The lines, newest first. A line must begin at `start`."""
    while start < stop and (block := _block_before(log, start, stop)):
        yield from reversed(block)
        stop = block[0].start


def aligned(log: Path, offset: int) -> int:
    """The beginning of the first line at `offset` or later."""
    if offset == 0:
        return 0
    with log.open("rb") as file:
        file.seek(offset - 1)
        while (piece := file.readline(LINE_MAX_BYTES)) and not piece.endswith(b"\n"):
            pass
        return file.tell()


def whole(log: Path, stop: int) -> int:
    """The end of the last complete line at or before `stop`; `stop` itself if that line is too long."""
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
        cut = 0 if begin == start else raw.find(b"\n", 0, -1) + 1  # else the first line began earlier
        if cut or begin == start:
            break
    lines: list[LogLine] = []
    for one in _split(raw[cut:]):
        lines.append(LogLine(lines[-1].end if lines else begin + cut, one))
    return lines


def _split(raw: bytes) -> list[bytes]:
    """Split at line feeds only, unlike `splitlines`."""
    *lines, rest = raw.split(b"\n")
    return [line + b"\n" for line in lines] + ([rest] if rest else [])
