"""Which expressions are schedules, and what is said of one that is none."""

from datetime import datetime

import pytest

from torpor_endpoint.core.autoscaling.schedules import At, BadSchedule, Cron, Rate, parse


@pytest.mark.parametrize(
    ("expression", "schedule"),
    [
        ("at(2035-01-01T08:30:00)", At(datetime(2035, 1, 1, 8, 30))),
        ("rate(1 minute)", Rate(60)),
        ("rate(5 minutes)", Rate(300)),
        ("rate(2 hours)", Rate(7200)),
        ("rate(1day)", Rate(86400)),
        ("cron(0/15 8-17 ? * mon-FRI *)", Cron(("0/15", "8-17", "?", "*", "MON-FRI", "*"))),
        ("cron(0 0 L * ?)", Cron(("0", "0", "L", "*", "?", "*"))),
        ("cron(0 0 ? JAN,JUL 2#1 2030-2040)", Cron(("0", "0", "?", "JAN,JUL", "2#1", "2030-2040"))),
    ],
)
def test_a_schedule_is_read(expression: str, schedule: At | Rate | Cron) -> None:
    assert parse(expression) == schedule


FIELDS = {"minutes": 0, "hours": 1, "day of month": 2, "month": 3, "day of week": 4, "year": 5}


def with_field(name: str, text: str) -> str:
    """A valid expression, in which this field has another text."""
    fields = ["0", "8", "?" if name == "day of week" else "1", "*", "2" if name == "day of week" else "?", "*"]
    fields[FIELDS[name]] = text
    return f"cron({' '.join(fields)})"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("minutes", "0,59"),
        ("minutes", "*/15"),
        ("minutes", "5-10/2"),
        ("hours", "0,23"),
        ("day of month", "1,31"),
        ("day of month", "L,L-1,L-30,LW,1W,31W"),
        ("month", "1,12,JAN-DEC"),
        ("day of week", "1,7,SUN-SAT"),
        ("day of week", "L,6L,FRIL,1#1,SUN#5"),
        ("year", "1970,2199"),
    ],
)
def test_a_field_takes_the_values_between_its_bounds_and_its_words(name: str, text: str) -> None:
    schedule = parse(with_field(name, text))
    assert isinstance(schedule, Cron)
    assert schedule.fields[FIELDS[name]] == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("minutes", "60"),
        ("minutes", "-1"),
        ("minutes", "L"),
        ("minutes", "?"),
        ("minutes", "JAN"),
        ("minutes", "5,"),
        ("minutes", "٣"),
        ("minutes", "0/0"),
        ("minutes", "0/x"),
        ("minutes", "0/"),
        ("minutes", "0/٣"),
        ("minutes", "1-2-3"),
        ("minutes", "*-3"),
        ("minutes", "5-60"),
        ("hours", "24"),
        ("day of month", "0"),
        ("day of month", "32"),
        ("day of month", "0W"),
        ("day of month", "32W"),
        ("day of month", "L-31"),
        ("day of month", "L-0"),
        ("day of month", "6#1"),
        ("month", "0"),
        ("month", "13"),
        ("month", "FOO"),
        ("day of week", "0"),
        ("day of week", "8"),
        ("day of week", "FOO#1"),
        ("day of week", "FOOL"),
        ("day of week", "6#6"),
        ("day of week", "6#0"),
        ("day of week", "LW"),
        ("year", "1969"),
        ("year", "2200"),
    ],
)
def test_a_field_with_another_text_is_named(name: str, text: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        parse(with_field(name, text))
    assert str(refused.value) == f"Invalid CRON expression: {text} is no value for the field {name}"


@pytest.mark.parametrize("fields", ["", "* *", "0 8 1 *", "0 8 1 * ? * *", "0 8 * * * *", "0 8 ? * ? *"])
def test_a_cron_expression_has_six_fields_and_one_for_days_is_a_question_mark(fields: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        parse(f"cron({fields})")
    assert str(refused.value) == f"Invalid CRON expression: {fields}"


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("at(2035-01-01)", "Invalid schedule at DateTime expression: 2035-01-01"),
        ("at(2035-02-30T00:00:00)", "Invalid schedule at DateTime expression: 2035-02-30T00:00:00"),
        ("rate(0 hours)", "Invalid schedule frequency. Runs are less than 60 seconds apart."),
        ("rate(٣ hours)", "Invalid schedule expression."),
        ("rate(5 weeks)", "Invalid schedule expression."),
        ("0 8 * * *", "Invalid schedule expression."),
        ("", "Invalid schedule expression."),
    ],
)
def test_what_is_no_schedule_is_refused(expression: str, why: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        parse(expression)
    assert str(refused.value).startswith(why)
