"""The line of one variant, beside a slow list that says the same."""

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.runtime.asynchronous.async_queue import Waiting
from torpor_endpoint.runtime.asynchronous.line import Line


def one(number: int, expires_s: float = 100.0) -> Waiting:
    return Waiting(number, "e", "v", float(number), expires_s)


STEPS = st.lists(st.tuples(st.sampled_from(["take", "back", "end", "remove", "expire"]), st.integers(0, 9)))


@given(st.lists(st.integers(1, 20), min_size=1, max_size=10), STEPS)
def test_requests_leave_in_the_order_of_their_arrival(ends_s: list[int], steps: list[tuple[str, int]]) -> None:
    line = Line()
    waiting = {number: one(number, float(end_s)) for number, end_s in enumerate(ends_s)}
    running: dict[int, Waiting] = {}
    rests, now_s = dict[int, int](), 0
    for request in waiting.values():
        line.add(request)
    for step, value in steps:
        if step == "take":
            now_s += 1
            first = min((number for number in waiting if rests.get(number, 0) <= now_s), default=None)
            taken = line.take(float(now_s))
            assert (taken and taken.number) == first
            if taken is not None:
                running[taken.number] = waiting.pop(taken.number)
        elif step == "back" and value in running:
            rests[value] = now_s + value % 3
            line.back(running[value], float(rests[value]))
            waiting[value] = running.pop(value)
        elif step == "end" and value in running:
            line.ended(value)
            del running[value]
        elif step == "remove":
            assert line.remove(value) is (waiting.pop(value, None) is not None)
        elif step == "expire":
            over = sorted(number for number, request in waiting.items() if request.expires_s <= value)
            assert sorted(each.number for each in line.expired(float(value))) == over
            for number in over:
                del waiting[number]
        assert len(line) == len(waiting)
        assert sorted(each.number for each in line) == sorted(waiting)
        assert line.running == running
        assert line.oldest_s == min((request.received_s for request in waiting.values()), default=None)
        assert line.next_end_s == min((request.expires_s for request in waiting.values()), default=None)
