"""A loop hangs once enough looks in a row saw no turn of it, and is judged only while it turns at all."""

from torpor_account.core.outages.loop_pulse import LoopPulse


def looks(pulse: LoopPulse, count: int) -> list[bool]:
    return [pulse.look() for _ in range(count)]


def test_a_loop_is_judged_from_its_first_turn_to_its_rest() -> None:
    pulse = LoopPulse(looks=3)
    assert looks(pulse, 9) == [True] * 9
    pulse.turn()
    assert looks(pulse, 5) == [True, True, True, False, False]
    pulse.rest()
    assert looks(pulse, 5) == [True] * 5


def test_a_turn_begins_the_count_anew() -> None:
    pulse = LoopPulse(looks=2)
    seen = []
    for turns in (True, False, True, False, False, True):
        if turns:
            pulse.turn()
        seen.append(pulse.look())
    assert seen == [True, True, True, True, False, True]


def test_a_loop_is_not_judged_before_its_first_turn_however_long_that_takes() -> None:
    pulse = LoopPulse(looks=2)
    pulse.turn()
    assert looks(pulse, 2) == [True, True]
    fresh = LoopPulse(looks=1)
    fresh.turn()
    assert looks(fresh, 2) == [True, False]
