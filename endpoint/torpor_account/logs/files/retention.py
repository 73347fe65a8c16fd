"""Stores how long a group's streams are kept, and removes streams by age and by number."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from torpor_account.logs.files.group_folders import LogGroup
from torpor_account.logs.files.log_marks import LogMarks

DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)
"""The values of retentionInDays that AWS accepts."""

STREAMS_MAX = 200
"""The most streams of a group. Beyond it the oldest ended streams are removed."""

DAY_S = 86_400


def days_of(group: LogGroup) -> int | None:
    with suppress(FileNotFoundError, ValueError):
        return int(_file(group).read_text())
    return None


def set_days(group: LogGroup, days: int | None) -> None:
    if days is None:
        _file(group).unlink(missing_ok=True)
    else:
        _file(group).write_text(str(days))


def tidy(group: LogGroup, marks: LogMarks, writing: Collection[Path], now_s: float) -> None:
    """Remove streams that are too old or too many. A stream that is being written stays."""
    ended = [stream.log for stream in group.streams() if stream.log not in writing]
    for log in leaving({log: _last_written_s(log) for log in ended}, days_of(group), now_s):
        erase(log, marks)


def leaving(ended: dict[Path, float], days: int | None, now_s: float) -> list[Path]:
    """The ended logs that are too old or too many. `ended` has the time of each log's last write."""
    oldest_first = sorted(ended, key=lambda log: ended[log])
    too_many = max(len(oldest_first) - STREAMS_MAX, 0)
    since_s = now_s - days * DAY_S if days is not None else 0.0
    return [log for at, log in enumerate(oldest_first) if at < too_many or ended[log] < since_s]


def erase(log: Path, marks: LogMarks) -> None:
    log.unlink(missing_ok=True)
    marks.forget(log)


def _last_written_s(log: Path) -> float:
    try:
        return log.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _file(group: LogGroup) -> Path:
    return group.folder / ".retention"
