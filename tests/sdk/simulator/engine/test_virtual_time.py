"""Planned events happen in the order of their time, and then of their planning."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from torpor.simulator.engine.virtual_time import FEW, Kernel

DELAYS_S = st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.5]), max_size=30)


@given(DELAYS_S, DELAYS_S)
def test_events_planned_for_the_same_moment_happen_in_the_order_of_planning(
    first: list[float], then: list[float]
) -> None:
    """Each of the first plans one more when it happens, for this very moment or later."""
    kernel, happened, planned = Kernel(), list[tuple[float, int]](), 0

    def plan(delay_s: float, more: list[float]) -> None:
        nonlocal planned
        planned += 1
        kernel.after(delay_s, happen, (kernel.now_s + delay_s, planned, more))

    def happen(told: tuple[float, int, list[float]]) -> None:
        time_s, number, more = told
        assert kernel.now_s == time_s
        happened.append((time_s, number))
        for delay_s in more:
            plan(delay_s, [])

    for number, delay_s in enumerate(first):
        plan(delay_s, then[number : number + 1])
    kernel.run()
    assert len(happened) == planned
    assert happened == sorted(happened)


def test_an_arrival_happens_after_events_planned_for_its_moment_and_before_the_next_arrival() -> None:
    kernel, story = Kernel(), list[str]()

    def arrive(name: str) -> None:
        story.append(name)
        kernel.soon(story.append, f"after {name}")

    kernel.at(1.0, story.append, "planned")
    kernel.play([(1.0, "one"), (1.0, "two")], arrive)
    kernel.run()
    assert story == ["planned", "one", "after one", "two", "after two"]


def test_however_many_are_planned_they_happen_in_order() -> None:
    """Far more than are soon, few different times, and half as many again as they happen."""
    random, kernel, happened = Random(7), Kernel(), list[tuple[float, int]]()

    def plan(number: int, times: int) -> None:
        time_s = kernel.now_s + random.choice((0.0, 0.25, 3.0, 3.25, random.randrange(200) / 8))
        kernel.at(time_s, happen, (time_s, number, times))

    def happen(told: tuple[float, int, int]) -> None:
        time_s, number, times = told
        assert kernel.now_s == time_s
        happened.append((time_s, number))
        if times and random.random() < 0.5:
            plan(len(planned), times - 1)
            planned.append(number)

    planned = list(range(1_500 * FEW))
    for number in range(1_500 * FEW):
        plan(number, 2)
    kernel.run(1.0)
    assert kernel.now_s == 1.0
    kernel.run()
    assert len(happened) == len(planned) == kernel.events
    assert happened == sorted(happened)
