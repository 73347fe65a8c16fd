"""Places a minute's warm requests at the moments, or in the seconds, in which they arrived, so that their order and the
quiet times between them stay."""

from collections.abc import Iterator, Sequence

import numpy as np

from torpor.time_units import MINUTE_S
from torpor.workloads.trace import Times
from torpor.workloads.trace_formats.stays import Stay, WarmStretch
from torpor_endpoint.core.ledger import Span, moments_ms

HALF_S = 0.0005
"""Half the precision of the moments that are kept."""


def placed_in_span(rng: np.random.Generator, span: Span, requests: int, stays: Sequence[Stay] = ()) -> Times:
    """Times for so many warm requests, in order: those at the moments that the span has, and the others after them, in
    seconds in which any came."""
    minute_s = span.first_s // MINUTE_S * MINUTE_S
    known_s: Times = minute_s + np.sort(np.array(moments_ms(span.moments), np.float64)) / 1000 + HALF_S
    known_s = known_s.clip(span.first_s, span.last_s)
    if requests == len(known_s):
        known_s[[-1, 0]] = span.last_s, span.first_s
        return known_s
    if requests < len(known_s):  # a request that failed has a moment, too
        return known_s[np.sort(rng.choice(len(known_s), requests, replace=False))]
    if not len(known_s):
        called = WarmStretch(requests, span.first_s, span.last_s, seen=True)
        return placed_in_seconds(rng, called, span.seconds, stays)
    called = WarmStretch(requests - len(known_s), float(known_s[-1]), span.last_s, seen=True)
    last_known = int(called.first_s - minute_s)
    later = span.seconds >> last_known + 1 << last_known + 1
    if called.requests > later.bit_count():  # some may have come in the second of the last one that is known
        later |= 1 << last_known
    others_s = _placed(rng, called, later, stays)
    others_s[-1] = span.last_s
    return np.concatenate((known_s, others_s))


def placed_in_seconds(rng: np.random.Generator, called: WarmStretch, seconds: int, stays: Sequence[Stay] = ()) -> Times:
    """Times for these warm requests, in order: the first and the last as they were seen, one in each second of
    `seconds` (`torpor_endpoint.core.ledger.arrival_seconds`), and the others in any of these. Where a stay of the model
    begins or ends in a second, its requests come while the model is in memory, the last of them at its last use."""
    moments_s = _placed(rng, called, seconds, stays)
    moments_s[[-1, 0]] = called.last_s, called.first_s
    return moments_s


def _placed(rng: np.random.Generator, called: WarmStretch, seconds: int, stays: Sequence[Stay]) -> Times:
    parts = list(_parts(called, seconds, stays))
    if called.requests < len(parts):  # a request that failed has no second
        parts = [parts[number] for number in sorted(rng.choice(len(parts), called.requests, replace=False).tolist())]
    bounds_s = np.array(parts, np.float64).reshape(-1, 2)
    others = rng.integers(0, len(parts), called.requests - len(parts))
    since_s, until_s = bounds_s[np.concatenate((np.arange(len(parts)), others))].T
    moments_s: Times = np.sort(since_s + (until_s - since_s) * rng.random(called.requests))
    for until_s in (stay.until_s for stay in stays if stay.hits):
        used = np.searchsorted(moments_s, until_s, side="right") - 1
        if 0 <= used < called.requests and int(moments_s[used]) == int(until_s) < called.last_s:
            moments_s[used] = until_s
    return moments_s


def _parts(called: WarmStretch, seconds: int, stays: Sequence[Stay]) -> Iterator[tuple[float, float]]:
    """For each second: from when until when requests came in it, as far as that is known."""
    minute_s = called.first_s // MINUTE_S * MINUTE_S
    for second in range(seconds.bit_length()):
        if seconds >> second & 1:
            since_s = max(minute_s + second, called.first_s)
            until_s = max(since_s, min(minute_s + second + 1, called.last_s))
            held = [stay for stay in stays if stay.since_s < until_s and stay.until_s > since_s]
            if held and not any(stay.since_s <= since_s and stay.until_s >= until_s for stay in held):
                stay = max(held, key=lambda one: min(until_s, one.until_s) - max(since_s, one.since_s))
                since_s, until_s = max(since_s, stay.since_s), min(until_s, stay.until_s)
            yield since_s, until_s
