"""Where a travelling clock stops, and which chores are due there."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.testing.travel import Appointment, due, next_stop

MOMENTS = st.floats(0.0, 1e6, allow_nan=False)
APPOINTMENTS = st.lists(st.builds(Appointment, st.text("abc", min_size=1), MOMENTS, MOMENTS | st.just(-inf)))


def test_it_stops_at_the_first_chore_that_has_work() -> None:
    sizer, alarms = Appointment("sizer", 1.0, quiet_until_s=1200.0), Appointment("alarms", 60.0)
    assert next_stop([sizer, alarms], 0.0, 3600.0) == 60.0
    assert next_stop([sizer], 0.0, 3600.0) == 1200.0
    assert next_stop([sizer], 0.0, 900.0) == 900.0
    assert next_stop([sizer], 0.0, 3600.0, elsewhere_s=300.0) == 300.0


def test_a_stop_for_one_chore_lets_the_others_look_that_are_due() -> None:
    sizer, alarms, later = Appointment("sizer", 1.0, 1200.0), Appointment("alarms", 60.0), Appointment("later", 61.0)
    assert due([later, alarms, sizer], 60.0) == ("sizer", "alarms")


def test_chores_that_fall_due_together_look_in_the_order_of_their_names() -> None:
    assert due([Appointment("b", 1.0), Appointment("a", 1.0)], 1.0) == ("a", "b")


@given(APPOINTMENTS, MOMENTS, MOMENTS)
def test_it_never_goes_back_nor_beyond_its_target_nor_past_a_chore_with_work(
    appointments: list[Appointment], now_s: float, ahead_s: float
) -> None:
    target_s = now_s + ahead_s
    stop_s = next_stop(appointments, now_s, target_s)
    assert now_s <= stop_s <= target_s
    assert not [one for one in appointments if now_s < one.stop_s < stop_s]
    at_stop = due(appointments, stop_s)
    assert stop_s == target_s or at_stop
    assert sorted(at_stop) == sorted(one.chore for one in appointments if one.due_s <= stop_s)
