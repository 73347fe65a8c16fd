from hypothesis import given
from hypothesis import strategies as st

from torpor_account.core.file_growth import MARKS_MAX, Marks

growth = st.lists(st.tuples(st.integers(1, 50), st.integers(-2, 5)), max_size=40)


def grown(steps: list[tuple[int, int]]) -> tuple[Marks, list[int]]:
    """The marks, and for each byte when it was noted first."""
    marks, seen, now_ms = Marks(), list[int](), 1000
    for added, later_ms in steps:
        now_ms += later_ms
        marks = marks.noted(marks.size_bytes + added, now_ms)
        seen += [max(now_ms, seen[-1] if seen else now_ms)] * added
    return marks, seen


@given(growth)
def test_every_byte_has_the_time_at_which_it_was_first_noted(steps: list[tuple[int, int]]) -> None:
    marks, seen = grown(steps)
    assert [marks.seen_ms(offset) for offset in range(marks.size_bytes)] == seen


@given(growth, st.integers(990, 1300))
def test_since_a_time_is_where_the_first_byte_of_it_stands(steps: list[tuple[int, int]], at_ms: int) -> None:
    marks, seen = grown(steps)
    assert marks.since(at_ms) == sum(one < at_ms for one in seen)


def test_a_restarted_file_is_another_generation() -> None:
    marks = Marks().noted(100, 1000).noted(30, 2000)
    assert (marks.generation, marks.size_bytes, marks.seen_ms(0)) == (1, 30, 2000)
    assert marks.noted(0, 3000) == Marks(2)


def test_marks_are_bounded_and_old_ones_lose_their_precision_first() -> None:
    marks = Marks()
    for second in range(1, 5 * MARKS_MAX):
        marks = marks.noted(second, second * 1000)
    assert len(marks.offsets) <= MARKS_MAX
    assert marks.size_bytes == 5 * MARKS_MAX - 1
    late_ms = [marks.seen_ms(offset) - (offset + 1) * 1000 for offset in range(marks.size_bytes)]
    assert min(late_ms) == 0
    assert not any(late_ms[-MARKS_MAX // 2 :])
