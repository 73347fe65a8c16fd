"""The clock of an endpoint process, as tests move it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.errors import TorporError
from torpor.hosting.endpoint_process import Start
from torpor.hosting.shared_process import SharedProcess
from torpor.pages import clock as pages_clock
from torpor.testing import MovableClock, assert_asleep, assert_awake, assert_cold, assert_metric, assert_warm


@pytest.fixture(scope="module")
def travelling() -> Iterator[SharedProcess]:
    with SharedProcess(Start(travelling_clock=True)) as process:
        yield process.until_ready()


@pytest.fixture
def clock(travelling: SharedProcess) -> MovableClock:
    return MovableClock(travelling.connection)


@pytest.mark.thorough
def test_an_endpoint_sleeps_after_twenty_minutes_and_the_next_call_is_cold(
    travelling: SharedProcess, clock: MovableClock, models: Path
) -> None:
    with travelling.local(models, name="night", sleep_after_s=1200) as endpoint:
        endpoint.invoke(CITIES[0], ROWS)
        assert_warm(endpoint.invoke_raw(CITIES[0], ROWS), endpoint)
        clock.advance(minutes=19)
        assert_awake(endpoint)
        clock.advance(minutes=2)
        assert_asleep(endpoint)
        assert_metric(endpoint, "Invocations", "Sum", 2)
        assert_cold(endpoint.invoke_raw(CITIES[0], ROWS), endpoint)
        assert_metric(endpoint, "Invocations", "Sum", 1, last_s=600)
        assert len(endpoint.cold_starts(last_s=600)) == 1


def test_an_earlier_endpoint_of_the_name_counts_in_no_metric(travelling: SharedProcess, models: Path) -> None:
    for calls in (3, 2):
        with travelling.local(models, name="again") as endpoint:
            for _ in range(calls):
                endpoint.invoke(CITIES[0], ROWS)
            assert_metric(endpoint, "Invocations", "Sum", calls)


@pytest.mark.thorough
def test_a_story_is_told_at_the_endpoints_time(travelling: SharedProcess, clock: MovableClock, models: Path) -> None:
    with travelling.local(models, name="story") as endpoint:
        clock.advance(days=2)
        endpoint.invoke(CITIES[0], ROWS)
        told = str(endpoint.why(CITIES[0]))
        assert "was loaded" in told
        assert str(clock.now.year) not in told  # a decision of today has no date


def test_it_is_set_to_a_moment_of_any_time_zone(clock: MovableClock) -> None:
    moment = clock.now.replace(microsecond=0) + timedelta(days=1)
    shown = clock.set(moment.astimezone(timezone(timedelta(hours=9))))
    assert abs(shown - moment) < timedelta(seconds=1)
    assert shown.tzinfo is UTC
    assert abs(clock.now - moment) < timedelta(seconds=5)


def test_it_never_goes_back(clock: MovableClock) -> None:
    with pytest.raises(ValueError, match="only goes forward, and not by -1 day"):
        clock.advance(days=-1)
    with pytest.raises(ValueError, match=r"only goes forward, and not to 2001-01-01"):
        clock.set(datetime(2001, 1, 1, tzinfo=UTC))


def test_a_moment_without_a_time_zone_is_refused(clock: MovableClock) -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        clock.set(datetime(2100, 1, 1))


def test_a_move_says_how_far(clock: MovableClock) -> None:
    with pytest.raises(TypeError, match="say how far"):
        clock.advance()
    with pytest.raises(TypeError, match="say how far"):
        clock.advance(timedelta(hours=1), minutes=1)


def test_an_endpoint_with_a_real_clock_is_refused_with_the_way_out(shared: SharedProcess) -> None:
    with pytest.raises(TorporError, match=r"--travelling-clock; in tests: torpor\.testing\.Start"):
        MovableClock(shared.connection)


def test_the_time_of_an_endpoint_with_a_real_clock_is_real(endpoint: torpor.Local) -> None:
    assert abs(pages_clock.now_s(endpoint.connection) - datetime.now(UTC).timestamp()) < 5
