"""The times of schedules: in their time zones, over changes of the clocks, between their start and end."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.autoscaling.occurrences import (
    HOURS,
    MINUTES,
    MONTHS,
    WEEKDAYS,
    Recurrence,
    days,
    next_occurrence,
    numbers,
)
from torpor_endpoint.core.autoscaling.schedules import Cron, parse

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


def at(text: str) -> float:
    """In UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


NEW_YEAR_S = at("2027-01-01")
SINCE_NEW_YEAR = Recurrence(NEW_YEAR_S)


def occasions(expression: str, zone: ZoneInfo, count: int, span: Recurrence = SINCE_NEW_YEAR) -> list[str]:
    """The first so many after new year of 2027, as the clock on the wall says."""
    found, after_s = list[str](), NEW_YEAR_S
    while len(found) < count and (next_s := next_occurrence(parse(expression), zone, span, after_s)) is not None:
        found.append(f"{datetime.fromtimestamp(next_s, zone):%Y-%m-%d %H:%M}")
        after_s = next_s
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("at(2027-07-01T08:30:00)", ["2027-07-01 08:30"]),
        ("at(2026-07-01T08:30:00)", []),
        ("cron(0 8 * * ? *)", ["2027-01-01 08:00", "2027-01-02 08:00"]),
        ("cron(0/20 17 ? * mon-fri *)", ["2027-01-01 17:00", "2027-01-01 17:20"]),
        ("cron(0 9 ? * FRI-MON *)", ["2027-01-01 09:00", "2027-01-02 09:00"]),
        ("cron(0 0 L * ? *)", ["2027-01-31 00:00", "2027-02-28 00:00"]),
        ("cron(0 0 L-3 * ? *)", ["2027-01-28 00:00", "2027-02-25 00:00"]),
        ("cron(0 0 LW * ? *)", ["2027-01-29 00:00", "2027-02-26 00:00"]),
        ("cron(0 0 2W,15W 5 ? *)", ["2027-05-03 00:00", "2027-05-14 00:00"]),
        ("cron(0 0 ? APR-JUL 2#1 *)", ["2027-04-05 00:00", "2027-05-03 00:00"]),
        ("cron(0 0 ? * 6L *)", ["2027-01-29 00:00", "2027-02-26 00:00"]),
        ("cron(0 0 ? * L *)", ["2027-01-02 00:00", "2027-01-09 00:00"]),
        ("cron(0 0 ? * 1#5 *)", ["2027-01-31 00:00", "2027-05-30 00:00"]),
        ("cron(0 0 29 2 ? *)", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("cron(0 0 31 2 ? *)", []),
        ("cron(30 1 1 JUL ? 2030-2031)", ["2030-07-01 01:30", "2031-07-01 01:30"]),
    ],
)
def test_a_schedule_comes_round(expression: str, expected: list[str]) -> None:
    assert occasions(expression, BERLIN, 2) == expected


def cron(fields: str) -> Cron:
    schedule = parse(f"cron({fields})")
    assert isinstance(schedule, Cron)
    return schedule


@pytest.mark.parametrize(
    ("fields", "place", "expected"),
    [
        ("50-10/10 0 1 * ? *", MINUTES, {50, 0, 10}),
        ("0/20,7 0 1 * ? *", MINUTES, {0, 20, 40, 7}),
        ("0 22-1 1 * ? *", HOURS, {22, 23, 0, 1}),
        ("0 */6 1 * ? *", HOURS, {0, 6, 12, 18}),
        ("0 0 1 NOV-FEB ? *", MONTHS, {11, 12, 1, 2}),
        ("0 0 1 JAN,FEB,MAR,APR,MAY,JUN,JUL,AUG,SEP,OCT,NOV,DEC ? *", MONTHS, set(range(1, 13))),
        ("0 0 ? * SUN,MON,TUE,WED,THU,FRI,SAT *", WEEKDAYS, set(range(1, 8))),
        ("0 0 1 12-1 ? *", MONTHS, {12, 1}),
        ("0 0 ? * FRI-MON *", WEEKDAYS, {6, 7, 1, 2}),
        ("0 0 ? * 3,6L *", WEEKDAYS, {3}),
    ],
)
def test_a_field_allows_these_numbers(fields: str, place: int, expected: set[int]) -> None:
    assert numbers(cron(fields), place) == expected


@pytest.mark.parametrize(
    ("field", "month", "expected"),
    [
        ("? * 6L,1#1 *", 1, [3, 29]),
        ("? * FRIL *", 1, [29]),
        ("? * 6#1 *", 1, [1]),
        ("? * 1#5,SAT#1 *", 2, [6]),
        ("? * 3,6#2 *", 2, [2, 9, 12, 16, 23]),
        ("? * L *", 1, [2, 9, 16, 23, 30]),
        ("2W * ? *", 1, [1]),  # a Saturday
        ("1W * ? *", 5, [3]),  # a Saturday, and the working day before it is of another month
        ("31W * ? *", 1, [29]),  # a Sunday, and the one after it is of another month
        ("3W * ? *", 1, [4]),  # a Sunday
        ("4W,31 * ? *", 1, [4, 31]),
        ("31W * ? *", 2, [26]),  # the last day is a Sunday
        ("LW * ? *", 3, [31]),
        ("L-1,L * ? *", 2, [27, 28]),
    ],
)
def test_these_are_the_days_of_a_month_of_2027(field: str, month: int, expected: list[int]) -> None:
    assert days(cron(f"0 0 {field}"), 2027, month) == expected


def test_an_hour_depends_on_the_time_zone() -> None:
    schedule = parse("cron(0 8 * * ? *)")
    assert next_occurrence(schedule, BERLIN, SINCE_NEW_YEAR, at("2027-01-05")) == at("2027-01-05T07:00")
    assert next_occurrence(schedule, NEW_YORK, SINCE_NEW_YEAR, at("2027-01-05")) == at("2027-01-05T13:00")
    assert next_occurrence(schedule, BERLIN, SINCE_NEW_YEAR, at("2027-07-05")) == at("2027-07-05T06:00")


def test_a_skipped_hour_occurs_later_and_a_repeated_hour_occurs_once() -> None:
    assert occasions("cron(30 2 28,29 3 ? 2027)", BERLIN, 3) == ["2027-03-28 03:30", "2027-03-29 02:30"]
    assert occasions("cron(30 2 31 10 ? 2027)", BERLIN, 3) == ["2027-10-31 02:30"]


def test_a_rate_counts_from_its_start_or_else_from_when_it_was_made() -> None:
    made, started = Recurrence(at("2026-12-31T23:45")), Recurrence(NEW_YEAR_S, start_s=at("2027-01-02"))
    assert occasions("rate(1 hour)", ZoneInfo("UTC"), 2, made) == ["2027-01-01 00:45", "2027-01-01 01:45"]
    assert occasions("rate(1 hour)", ZoneInfo("UTC"), 2, started) == ["2027-01-02 00:00", "2027-01-02 01:00"]


def test_nothing_recurs_before_its_start_or_after_its_end() -> None:
    span = Recurrence(NEW_YEAR_S, at("2027-02-03T00:00"), at("2027-02-04T00:00"))
    expected = ["2027-02-03 00:00", "2027-02-03 12:00", "2027-02-04 00:00"]
    assert occasions("cron(0 0/12 * * ? *)", ZoneInfo("UTC"), 9, span) == expected
    assert occasions("rate(12 hours)", ZoneInfo("UTC"), 9, span) == expected


EXPRESSIONS = ["rate(7 minutes)", "cron(0/7 * * * ? *)", "cron(30 1-3 ? * SUN *)", "cron(0 0 LW * ? *)"]


@given(st.sampled_from(EXPRESSIONS), st.sampled_from([BERLIN, NEW_YORK]), st.floats(NEW_YEAR_S, NEW_YEAR_S + 3e7))
def test_occasions_only_ever_come_later(expression: str, zone: ZoneInfo, after_s: float) -> None:
    row = [after_s]
    for _ in range(20):
        next_s = next_occurrence(parse(expression), zone, SINCE_NEW_YEAR, row[-1])
        assert next_s is not None
        row.append(next_s)
    assert all(one < other for one, other in pairwise(row))
