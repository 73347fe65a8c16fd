"""Calculates the next time of a schedule: of at(...), rate(...) and cron(...) in a time zone. It has no clock."""

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from math import floor

from torpor_endpoint.core.autoscaling.schedules import DAYS, VALUES, At, Cron, Rate

MINUTES, HOURS, DATES, MONTHS, WEEKDAYS, YEARS = range(6)
SATURDAY = 7
"""Days of the week are 1 to 7, from Sunday on."""


@dataclass(frozen=True)
class Recurrence:
    """When an action was created, and the times between which it recurs, in epoch seconds."""

    created_s: float
    start_s: float | None = None
    end_s: float | None = None


def next_occurrence(schedule: At | Rate | Cron, zone: tzinfo, span: Recurrence, after_s: float) -> float | None:
    """The first occurrence later than `after_s`, in epoch seconds; None if there is none."""
    if isinstance(schedule, At):
        at_s = schedule.moment.replace(tzinfo=zone).timestamp()
        return at_s if at_s > after_s else None
    next_s = _tick(schedule, span, after_s) if isinstance(schedule, Rate) else _crossing(schedule, zone, span, after_s)
    return None if next_s is None or (span.end_s is not None and next_s > span.end_s) else next_s


def _tick(rate: Rate, span: Recurrence, after_s: float) -> float:
    """A rate counts from its start time, which is the first occurrence, or else from the creation of the action."""
    since_s, first = (span.created_s, 1) if span.start_s is None else (span.start_s, 0)
    return since_s + max(floor((after_s - since_s) / rate.every_s) + 1, first) * rate.every_s


def _crossing(cron: Cron, zone: tzinfo, span: Recurrence, after_s: float) -> float | None:
    """A time that the clocks skip occurs an hour later; a time that they repeat occurs once."""
    earliest = datetime.fromtimestamp(max(after_s, span.start_s or after_s), zone)
    for moment in _moments(cron, earliest):
        at_s = moment.replace(tzinfo=zone).timestamp()
        if at_s > after_s and at_s >= (span.start_s or at_s):
            return at_s
    return None


def _moments(cron: Cron, earliest: datetime) -> Iterator[datetime]:
    """All moments of the expression, in local time, from that day on."""
    hours, minutes = sorted(numbers(cron, HOURS)), sorted(numbers(cron, MINUTES))
    for year in sorted(year for year in numbers(cron, YEARS) if year >= earliest.year):
        for month in sorted(numbers(cron, MONTHS)):
            for day in days(cron, year, month):
                if (year, month, day) >= (earliest.year, earliest.month, earliest.day):
                    yield from (datetime(year, month, day, hour, minute) for hour in hours for minute in minutes)


def numbers(cron: Cron, place: int) -> frozenset[int]:
    """The numbers that a field allows. Words for days are not among them: their numbers depend on the month."""
    parts = cron.fields[place].split(",")
    return frozenset(number for part in parts if not _is_word(part, place) for number in _numbers(part, place))


def _numbers(part: str, place: int) -> Iterator[int]:
    least, most, _ = VALUES[place]
    span, slash, step = part.partition("/")
    first, dash, last = span.partition("-")
    if first == "*":
        begin, end = least, most
    else:
        begin = _number(first, place)
        end = _number(last, place) if dash else (most if slash else begin)
    if end < begin:  # such as FRI-MON
        end += most - least + 1
    return ((number - least) % (most - least + 1) + least for number in range(begin, end + 1, int(step or 1)))


def _number(text: str, place: int) -> int:
    least, _, names = VALUES[place]
    return names.index(text) + least if text in names else int(text)


def _is_word(part: str, place: int) -> bool:
    """L, L-3, LW, 15W, 6L, FRI#2."""
    return place in DAYS and ("#" in part or part.startswith("L") or part.endswith(("L", "W")))


def days(cron: Cron, year: int, month: int) -> list[int]:
    """The dates of a month that the two fields for days allow; one of them is `?`."""
    every = range(1, monthrange(year, month)[1] + 1)
    if cron.fields[WEEKDAYS] == "?":
        allowed = numbers(cron, DATES) | {_date(word, year, month) for word in _words(cron, DATES)}
        return [day for day in every if day in allowed]
    plain, named = numbers(cron, WEEKDAYS), [_occurrences(word, year, month) for word in _words(cron, WEEKDAYS)]
    return [
        day for day in every if weekday(year, month, day) in plain or any(day in occurrences for occurrences in named)
    ]


def _words(cron: Cron, place: int) -> list[str]:
    return [part for part in cron.fields[place].split(",") if _is_word(part, place)]


def weekday(year: int, month: int, day: int) -> int:
    """1 is Sunday."""
    return datetime(year, month, day).isoweekday() % 7 + 1


def _date(word: str, year: int, month: int) -> int:
    """`L` is the last day, `L-3` three before it, `LW` its last working day, `15W` the working day nearest to it."""
    last = monthrange(year, month)[1]
    if word == "LW":
        return _working(last, year, month)
    if word.startswith("L"):
        return last - int(word[2:] or 0)
    return _working(min(int(word[:-1]), last), year, month)


def _working(day: int, year: int, month: int) -> int:
    """The nearest day from Monday to Friday in the same month."""
    last, on = monthrange(year, month)[1], weekday(year, month, day)
    if on == SATURDAY:
        return day - 1 if day > 1 else day + 2
    if on == 1:
        return day + 1 if day < last else day - 2
    return day


def _occurrences(word: str, year: int, month: int) -> list[int]:
    """`6L` is the last Friday, `6#2` the second, `L` alone the last day of every week."""
    name, sharp, which = word.partition("#")
    number = SATURDAY if word == "L" else _number(name if sharp else word[:-1], WEEKDAYS)
    on = [day for day in range(1, monthrange(year, month)[1] + 1) if weekday(year, month, day) == number]
    if sharp:
        return on[int(which) - 1 : int(which)]
    return on if word == "L" else on[-1:]
