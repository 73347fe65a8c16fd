"""Estimates the room for models in an instance from what it evicted: the room in which it would have decided the same.

Readings of memory say what an instance takes beside its models on average. Where its models' sizes are alike, a few
per cent of that decide whether one model more fits, and so how often models are loaded: its own decisions are sharper.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from torpor_container.wire import VICTIMS_REPORTED_MAX

EVICTIONS_MIN = 20
"""The least number of loads that evicted models, from which the room is estimated."""


class MemoryReport(NamedTuple):
    """One load, as its instance reported it: which models left since the last one, and which of them for this load."""

    instance: str
    model: str
    left: Sequence[str]
    victims: Sequence[str]


class _RoomBounds(NamedTuple):
    """The room was at least `least_bytes`, which were in memory after a load, and less than `below_bytes`, for which
    the last victim could have stayed."""

    least_bytes: int
    below_bytes: float = inf


def room_bytes(reports: Iterable[MemoryReport], sizes: Mapping[str, int], measured_bytes: int) -> int:
    """The room that agrees with most loads; of several, the nearest to the measured one. That itself, if too few loads
    evicted models.

    `reports` are in the order of the loads, from each instance's first one on. `sizes` are the models' bytes.
    """
    found = list(_bounds(reports, sizes))
    if sum(one.below_bytes < inf for one in found) < EVICTIONS_MIN:
        return measured_bytes
    agreeing = Counter[float]()
    for one in found:
        agreeing[one.least_bytes] += 1
        agreeing[one.below_bytes] -= 1
    edges = sorted(agreeing)
    best, now, regions = -1, 0, list[tuple[float, float]]()
    for edge, until in zip(edges, [*edges[1:], inf], strict=True):
        now += agreeing[edge]
        if now > best:
            best, regions = now, []
        if now == best:
            regions.append((edge, until))
    nearest = [int(min(max(measured_bytes, since), until - 1)) for since, until in regions]
    return min(nearest, key=lambda room: (abs(room - measured_bytes), room))


# -- inside ------------------------------------------------------------------------------------------------------------
def _bounds(reports: Iterable[MemoryReport], sizes: Mapping[str, int]) -> Iterator[_RoomBounds]:
    held = defaultdict[str, dict[str, int]](dict)
    total = Counter[str]()
    for one in reports:
        here = held[one.instance]
        for name in one.left:
            total[one.instance] -= here.pop(name, 0)
        size = sizes.get(one.model, 0)
        total[one.instance] += size - here.get(one.model, 0)
        here[one.model] = size
        least = total[one.instance]
        last = one.victims[-1] if one.victims else None
        if last is None:
            yield _RoomBounds(least)
        elif len(one.victims) < VICTIMS_REPORTED_MAX and sizes.get(last):
            yield _RoomBounds(least, least + sizes[last])
