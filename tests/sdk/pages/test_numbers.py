"""The window that CloudWatch is asked about."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from torpor.pages.numbers import VariantWindow
from torpor_account.metrics.windows import from_start

moments = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


@given(moments, st.timedeltas(timedelta(0), timedelta(days=1)))
def test_a_single_period_covers_a_window_wherever_in_a_minute_it_begins(start: datetime, length: timedelta) -> None:
    window = VariantWindow("houses", "AllTraffic", start, start + length)
    asked = from_start(window.from_minute.timestamp(), window.end.timestamp(), window.whole_s)
    assert asked.start_s <= start.timestamp()
    assert window.end.timestamp() < asked.start_s + asked.period_s


def test_a_window_across_a_minute_is_two_minutes_long() -> None:
    start = datetime(2026, 1, 1, 16, 34, 50, tzinfo=UTC)
    assert VariantWindow("houses", "AllTraffic", start, start + timedelta(seconds=15)).whole_s == 120
