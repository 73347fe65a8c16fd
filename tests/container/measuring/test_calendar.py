"""The clock of dates and idle times, and what moves it."""

from torpor_container.measuring.calendar import Calendar


def test_it_is_ahead_of_its_clock_and_never_goes_back() -> None:
    now_s = 100.0
    calendar = Calendar(lambda: now_s, 0.0)
    assert calendar() == 100.0
    calendar.move(50.0)
    assert calendar() == 150.0
    calendar.move(20.0)
    assert calendar() == 150.0
