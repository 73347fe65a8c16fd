"""Parses schedule expressions: at(...), rate(...), cron(...). `occurrences` calculates their times."""

import re
from dataclasses import dataclass
from datetime import datetime

UNITS_S = {"minute": 60, "hour": 3600, "day": 86400}

AT = re.compile(r"at\((?P<moment>.*)\)")
RATE = re.compile(r"rate\((?P<number>[0-9]+)\s*(?P<unit>minute|hour|day)s?\)")
CRON = re.compile(r"cron\((?P<fields>.*)\)")

FIELDS = ("minutes", "hours", "day of month", "month", "day of week", "year")
VALUES = (
    # The values of each field, apart from `*`: numbers within bounds, and names.
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")),
    (1, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")),
    (1970, 2199, ()),
)
DAYS = (2, 4)
"""The two fields for days: exactly one of them must be `?`."""

DAY_WORDS = (
    re.compile("L(-([1-9]|[12][0-9]|30))?|LW|([1-9]|[12][0-9]|3[01])W"),
    re.compile(f"L|([1-7]|{'|'.join(VALUES[4][2])})(L|#[1-5])"),
)
"""The last day, the working day nearest to a date; the last Friday, the third Monday."""
STEP = re.compile("0*[1-9][0-9]*")


class BadSchedule(ValueError):
    """The expression is not valid. The text is AWS's, where it is known."""


@dataclass(frozen=True)
class At:
    """Once, at a moment of the action's time zone."""

    moment: datetime


@dataclass(frozen=True)
class Rate:
    """Every so many seconds."""

    every_s: int


@dataclass(frozen=True)
class Cron:
    """At all times that the six fields allow, in the order of FIELDS; a year that is left out is `*`."""

    fields: tuple[str, ...]


def parse(expression: str) -> At | Rate | Cron:
    """The schedule that the expression describes. Raises BadSchedule."""
    if found := AT.fullmatch(expression):
        return _at(found["moment"])
    if found := RATE.fullmatch(expression):
        return _rate(int(found["number"]), found["unit"])
    if found := CRON.fullmatch(expression):
        return _cron(found["fields"].split())
    raise BadSchedule(
        "Invalid schedule expression. Schedule expressions must have the following syntax: "
        r"rate(<number>\s?(minutes?|hours?|days?)), cron(<cron_expression>) or at(yyyy-MM-dd'T'HH:mm:ss)."
    )


def _at(text: str) -> At:
    try:
        return At(datetime.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        raise BadSchedule(f"Invalid schedule at DateTime expression: {text}") from None


def _rate(number: int, unit: str) -> Rate:
    if number < 1:
        raise BadSchedule("Invalid schedule frequency. Runs are less than 60 seconds apart.")
    return Rate(number * UNITS_S[unit])


def _cron(fields: list[str]) -> Cron:
    """The year is optional: AWS documents six fields, and also accepts five."""
    whole = [*fields, "*"] if len(fields) == len(FIELDS) - 1 else fields
    if len(whole) != len(FIELDS) or [whole[day] for day in DAYS].count("?") != 1:
        raise BadSchedule(f"Invalid CRON expression: {' '.join(fields)}")
    for place, text in enumerate(whole):
        if not _allowed(place, text.upper()):
            raise BadSchedule(f"Invalid CRON expression: {text} is no value for the field {FIELDS[place]}")
    return Cron(tuple(text.upper() for text in whole))


def _allowed(place: int, text: str) -> bool:
    if place in DAYS and text == "?":
        return True
    return all(_is_part(place, part) for part in text.split(","))


def _is_part(place: int, part: str) -> bool:
    """`*`, `5`, `MON`, `1-5`, each with a step such as `/10` behind it, or a word for a day."""
    if place in DAYS and DAY_WORDS[DAYS.index(place)].fullmatch(part):
        return True
    span, slash, step = part.partition("/")
    if slash and not STEP.fullmatch(step):
        return False
    ends = span.split("-")
    return span == "*" or (len(ends) <= 2 and all(_is_value(place, end) for end in ends))


def _is_value(place: int, text: str) -> bool:
    least, most, names = VALUES[place]
    return text in names or (text.isascii() and text.isdecimal() and least <= int(text) <= most)
