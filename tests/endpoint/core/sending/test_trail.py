"""What the last answer of several containers gets from those before it, and what an answer's timing says."""

import pytest

from torpor_container import wire
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.sending.trail import COLD, Trail, steps_of

CACHE = wire.MODEL_CACHE.lower().encode()


def test_the_last_answer_gets_the_noted_headers_that_it_lacks() -> None:
    trail = Trail()
    before = UpstreamAnswer(200, [(CACHE, b"miss"), (COLD, b"{}"), (b"x-own", b"a")], alike=b"lines")
    trail.answered("before", before, 1.0, last=False)
    last = UpstreamAnswer(200, [(CACHE, b"hit"), (b"x-own", b"miss")], alike=b"lines")
    trail.answered("after", last, 1.0, last=True)
    assert last.headers == [(CACHE, b"hit"), (b"x-own", b"miss"), (COLD, b"{}")]
    assert (before.alike, last.alike) == (b"lines", b""), "its lines are no longer those of its headers"


def test_a_last_answer_that_lacks_nothing_stays_as_it_is() -> None:
    trail = Trail()
    trail.answered("before", UpstreamAnswer(200), 1.0, last=False)
    last = UpstreamAnswer(200, [(CACHE, b"hit")], alike=b"lines")
    trail.answered("after", last, 2.0, last=True)
    assert (last.headers, last.alike) == ([(CACHE, b"hit")], b"lines")


@pytest.mark.parametrize(
    ("timing", "steps"),
    [
        (b"load;dur=5, predict;dur=250", {"load": 0.005, "predict": 0.25}),
        (b"overhead;dur=5, predict;dur=250", {"predict": 0.25}),
        (b'cache;desc="hit", predict;dur=250', {"predict": 0.25}),
        (b"miss", {}),
    ],
)
def test_the_steps_are_those_with_a_duration_without_the_overhead(timing: bytes, steps: dict[str, float]) -> None:
    assert steps_of(UpstreamAnswer(200, [(b"server-timing", timing)])) == steps
