"""Estimates of waits: what was measured last of each model, up to a bound."""

import pytest

from torpor_endpoint.core.routing.ready_slots import PlacedInstance
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
        waits.answered(str(number), 2.0, 2)
    waits.load_took("0", 2.0)
    waits.answered("0", 4.0, 2)
    assert (len(waits.loads_s), len(waits.paces_s)) == (KNOWN_MAX, KNOWN_MAX)
    waits.load_took("more", 3.0)
    waits.answered("more", 6.0, 2)
    assert (waits.loads_s, waits.paces_s) == ({"more": 3.0}, {"more": 3.0})


def test_each_call_of_a_line_says_how_fast_it_is_answered_but_one_alone_says_nothing() -> None:
    waits = WaitEstimates()
    waits.answered("a", 3.0, 1)
    assert not waits.paces_s
    for place in range(2, 21):  # 20 calls at once, of which one is answered each tenth of a second
        waits.answered("a", 0.1 * place, place)
        assert waits.paces_s["a"] == pytest.approx(0.1)
