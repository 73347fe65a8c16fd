"""Estimates of waits: what was measured last of each model, up to a bound."""

from torpor_endpoint.core.placement import PlacedInstance
from torpor_endpoint.in_service.wait_estimates import KNOWN_MAX, WaitEstimates


def instance(in_flight: int) -> PlacedInstance:
    one = PlacedInstance()
    one.in_flight = in_flight
    return one


def test_a_load_is_quicker_once_the_line_is_longer_than_the_last_load_took() -> None:
    waits = WaitEstimates()
    assert not waits.is_load_quicker("a", instance(1_000))
    waits.load_took("a", 2.0)
    assert not waits.is_load_quicker("a", instance(1_000))
    waits.answered("a", 4.0, 16)
    assert [waits.is_load_quicker("a", instance(many)) for many in (8, 9)] == [False, True]
    waits.load_took("a", 20.0)
    assert not waits.is_load_quicker("a", instance(9))
    assert not waits.is_load_quicker("b", instance(9))


def test_what_is_remembered_is_bounded() -> None:
    waits = WaitEstimates()
    for number in range(KNOWN_MAX):
        waits.load_took(str(number), 1.0)
        waits.answered(str(number), 1.0, 1)
    waits.load_took("0", 2.0)
    waits.answered("0", 2.0, 1)
    assert (len(waits.loads_s), len(waits.paces_s)) == (KNOWN_MAX, KNOWN_MAX)
    waits.load_took("more", 3.0)
    waits.answered("more", 3.0, 1)
    assert (waits.loads_s, waits.paces_s) == ({"more": 3.0}, {"more": 3.0})
