"""Users in a closed loop: as many answers as the law of Little allows, in the order of the requests."""

import pytest

from torpor.simulator.recommending.closed_loop import closed_loop


@pytest.mark.parametrize(
    ("users", "threads", "per_s", "latency_s", "busy"),
    [
        (1, 1, 1 / 0.012, 0.012, 10 / 12),  # the thread waits while the request is on its way
        (1, 4, 1 / 0.012, 0.012, 10 / 48),
        (4, 2, 200.0, 0.020, 1.0),  # as many as two threads answer; the others wait
        (40, 2, 200.0, 0.200, 1.0),
    ],
)
def test_throughput_and_latency_are_those_of_a_closed_queue(
    users: int, threads: int, per_s: float, latency_s: float, busy: float
) -> None:
    found = closed_loop(users, threads, lambda: 0.010, overhead_s=0.002, requests=2_000)
    assert found.per_s == pytest.approx(per_s, rel=0.03)
    assert found.latency_s(0.5) == pytest.approx(latency_s, rel=0.03)
    assert found.busy_share == pytest.approx(busy, rel=0.03)


def test_a_slow_request_holds_up_its_thread_alone() -> None:
    times = iter([1.0, *[0.01] * 1_000])
    found = closed_loop(2, 2, lambda: next(times), overhead_s=0.0, requests=200)
    assert found.latencies_s[-1] <= 1.0
    assert found.latency_s(0.99) == pytest.approx(0.01)
