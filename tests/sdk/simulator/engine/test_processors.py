"""Work shares processors: with enough of them it takes its own time, and otherwise all of it slows down."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.virtual_time import Kernel

Work = tuple[float, float]
"""When it begins, and how many seconds of a processor it takes."""

WORK = st.lists(st.tuples(st.floats(0, 10), st.floats(0.001, 5)), min_size=1, max_size=12)


def ends_s(work: list[Work], count: int | None) -> list[float]:
    kernel = Kernel()
    processors = Processors(kernel, count)
    ended = [inf] * len(work)

    def begin(number: int) -> None:
        processors.after(work[number][1], end, number)

    def end(number: int) -> None:
        ended[number] = kernel.now_s

    for number, (begins_s, _) in enumerate(work):
        kernel.at(begins_s, begin, number)
    kernel.run()
    return ended


def one_by_one(work: list[Work], count: int) -> list[float]:
    """The same by its definition: between any two moments all that is there gets its share."""
    left = {number: takes_s for number, (_, takes_s) in enumerate(work)}
    begins_s = [begins_s for begins_s, _ in work]
    ended, now_s = [inf] * len(work), 0.0
    while left:
        there = [number for number in left if begins_s[number] <= now_s]
        rate = min(1.0, count / len(there)) if there else 1.0
        next_s = min([begins_s[number] for number in left if begins_s[number] > now_s], default=inf)
        until_s = min([now_s + left[number] / rate for number in there] + [next_s])
        for number in there:
            left[number] -= (until_s - now_s) * rate
            if left[number] <= 1e-9:
                ended[number] = until_s
                del left[number]
        now_s = until_s
    return ended


@given(WORK, st.integers(1, 4))
def test_each_gets_its_share_at_every_moment(work: list[Work], count: int) -> None:
    assert ends_s(work, count) == pytest.approx(one_by_one(work, count), abs=1e-6)


@given(WORK)
def test_work_takes_its_own_time_with_enough_processors(work: list[Work]) -> None:
    alone = [begins_s + takes_s for begins_s, takes_s in work]
    assert ends_s(work, None) == alone
    assert ends_s(work, len(work)) == pytest.approx(alone)


def test_work_of_equal_length_ends_in_the_order_of_its_start() -> None:
    kernel, ended = Kernel(), list[int]()
    processors = Processors(kernel, 1)
    for number in range(5):
        processors.after(1.0, ended.append, number)
    kernel.run()
    assert ended == [0, 1, 2, 3, 4]
    assert kernel.now_s == pytest.approx(5.0)
