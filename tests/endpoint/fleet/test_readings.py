"""The collector's readings, and what happened lately."""

from tests.helpers.ledger_with_pages import life
from torpor_container.wire import DecisionRecord
from torpor_endpoint.fleet.readings import HAPPENINGS_MAX, Readings


def test_what_happened_is_numbered_and_bounded() -> None:
    readings = Readings()
    for seq in range(HAPPENINGS_MAX + 5):
        readings.decided("e", "v", "i", DecisionRecord(seq=seq))
    assert readings.last_number == HAPPENINGS_MAX + 5
    assert len(readings.after(0)) == HAPPENINGS_MAX
    assert [one.number for one in readings.after(HAPPENINGS_MAX + 3)] == [HAPPENINGS_MAX + 4, HAPPENINGS_MAX + 5]
    assert readings.after(readings.last_number) == ()


def test_an_instance_s_life_happens_too() -> None:
    readings = Readings()
    readings.lived(life(instance="i-9"))
    (one,) = readings.after(0)
    assert (one.endpoint, one.variant, one.instance, one.what) == ("houses", "v", "i-9", life(instance="i-9"))
