"""Sums of warm requests: added up in any order, they are what the requests themselves would have added."""

from functools import reduce
from operator import or_

from torpor_endpoint.core.ledger import Span, Sums
from torpor_endpoint.core.ledger_records import WarmRequests
from torpor_endpoint.core.routing.warm_sums import WarmSums

FIRST = WarmRequests(
    at_s=61.0,
    endpoint="e",
    variant="v",
    model="m",
    instance="i",
    totals_s=(0.5, 0.25),
    predicts_s=(0.25, 0.0625),
    request_bytes=10,
    response_bytes=20,
    span_s=(61.0, 62.0),
    container_s={"a": 1.0, "b": 2.0},
    seconds=0b110,
    moments="",
)
LATER = FIRST._replace(
    at_s=64.0,
    totals_s=(2.0,),
    predicts_s=(1.0,),
    request_bytes=3,
    response_bytes=5,
    span_s=(64.0, 64.0),
    seconds=1 << 4,
)


def test_it_has_what_the_requests_have_together() -> None:
    found = WarmSums.of(FIRST)
    assert found[:5] == FIRST[:5]
    assert (found.requests, found.total_s, found.predict_s, found.predict_ms) == (2, 0.75, 0.3125, 250 + 63)
    assert (found.request_bytes, found.response_bytes, found.shadow) == (10, 20, False)
    assert found.container_s == {"a": 1.0, "b": 2.0}
    assert found.span == Span(61.0, 62.0, 0b110)
    assert WarmSums.of(FIRST._replace(span_s=None)).span is None
    assert WarmSums.of(FIRST._replace(shadow=True)).shadow is True
    assert WarmSums(*found[:11]).shadow is False


def test_requests_are_alike_that_differ_in_their_times_within_a_minute_alone() -> None:
    first = WarmSums.of(FIRST)
    assert first.alike == WarmSums.of(LATER).alike
    others = [
        FIRST._replace(at_s=121.0),
        FIRST._replace(endpoint="other"),
        FIRST._replace(variant="other"),
        FIRST._replace(model="other"),
        FIRST._replace(instance="other"),
        FIRST._replace(container_s={"a": 1.0}),
        FIRST._replace(shadow=True),
    ]
    assert len({first.alike, *(WarmSums.of(one).alike for one in others)}) == 1 + len(others)
    assert WarmSums.of(FIRST._replace(totals_s=(0.5,), predicts_s=(0.5,))).alike == first.alike


def test_two_together_are_the_sum_of_both() -> None:
    both = WarmSums.of(FIRST) | WarmSums.of(LATER)
    assert both == reduce(or_, map(WarmSums.of, (FIRST, LATER)))
    assert (both.at_s, both.requests, both.total_s, both.predict_s, both.predict_ms) == (61.0, 3, 2.75, 1.3125, 1313)
    assert (both.request_bytes, both.response_bytes) == (13, 25)
    assert both.container_s == {"a": 2.0, "b": 4.0}
    assert both.span == Span(61.0, 64.0, 0b10110)


def test_the_span_of_one_is_that_of_both_if_the_other_has_none() -> None:
    spanned, other = WarmSums.of(FIRST), WarmSums.of(LATER._replace(span_s=None))
    assert (spanned | other).span == (other | spanned).span == spanned.span
    assert (other | other).span is None


def test_it_adds_to_the_sums_of_its_minute() -> None:
    sums = Sums()
    WarmSums.of(FIRST).add_to(sums)
    WarmSums.of(LATER._replace(shadow=True)).add_to(sums)
    assert (sums.requests, sums.copies) == (3, 1)
    assert (sums.total_s, sums.predict_s) == (2.75, 1.3125)
    assert (sums.busy_ms, sums.predict_ms) == (1313, 1313)
    assert (sums.request_bytes, sums.response_bytes) == (13, 25)
