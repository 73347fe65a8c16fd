"""Figures in the words of a person: moments, counts, times and sizes."""

from datetime import datetime


def moment(at_s: float, now_s: float | None, clock: str) -> str:
    """The time of day in the format `clock`, with the date if that is not today's."""
    at = datetime.fromtimestamp(at_s)
    today = now_s is not None and at.date() == datetime.fromtimestamp(now_s).date()
    return at.strftime(clock if today else f"%Y-%m-%d {clock}")


def counted(count: int, thing: str) -> str:
    """`1 hit`, `2 hits`"""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def milliseconds(seconds: float) -> str:
    """`423 ms`, `11.9 ms`: about three figures, which are enough to compare."""
    value = seconds * 1000
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def size(count_bytes: float) -> str:
    """`1.5 MiB`, in the largest unit that gives a value of one or more."""
    for unit, unit_bytes in (("GiB", 1024**3), ("MiB", 1024**2)):
        if count_bytes >= unit_bytes:
            return f"{count_bytes / unit_bytes:.1f} {unit}"
    return f"{count_bytes / 1024:.0f} KiB"
