"""Computes LRU stack distances by bytes, with numpy, for a block of requests at once.

For a request at place t for a model that was last used at place p, with prev(s) the place of the use before place s,

    bytes of the other models used since  =  Σ size(s) over s < t with prev(s) < p, or none  -  Σ size(s) over s ≤ p

since of the uses after p only each model's first one counts (Bennett and Kruskal's count, with sizes). Between blocks
only the models in order of their last use are kept, so memory grows with the models, not with the trace.
"""

import numpy as np
from numpy.typing import NDArray

from torpor.workloads.trace import Ids, Sizes

Places = NDArray[np.intp]
BLOCK_REQUESTS = 8_192
"""The least size of a block. Work per request grows with the logarithm of the block, work per block with the models."""

LAST = 8
"""Spans of this size are not halved, but compared one by one. A power of two."""


class Distances:
    """The distances of one trace, block by block."""

    def __init__(self) -> None:
        self._recent: Places = np.empty(0, np.intp)  # the models so far, the one used longest ago first

    @property
    def block_requests(self) -> int:
        """The size of a block that takes the least time per request: a power of two."""
        return max(BLOCK_REQUESTS, 1 << (4 * len(self._recent)).bit_length())

    def of(self, models: Ids, size_bytes: Sizes) -> tuple[Sizes, Sizes]:
        """For each request whose model was used before, unsorted: the bytes of the other models used since then, and
        the bytes of its own. `size_bytes` has the sizes by the models' numbers."""
        met = len(self._recent)
        used = np.concatenate((self._recent, models.astype(np.intp)))
        before, later, last = _links(used)
        self._recent = used.take(last)
        sizes = size_bytes.take(used)
        first = np.ones(len(used), dtype=bool)
        first[later] = False
        anew = met + np.flatnonzero(first[met:])
        own = sizes.take(later)
        times = np.concatenate((later, anew)) - met
        nested = _preceding(times, np.concatenate((own, np.zeros(len(anew), np.int64)))).take(later - met)
        return (sizes * first).cumsum().take(later) + nested - sizes.cumsum().take(before), own


def _links(used: Places) -> tuple[Places, Places, Places]:
    """The places of uses that have a next use, in order; the places of those next uses; and the places of all last
    uses."""
    bits = len(used).bit_length()
    ordered: Places = np.sort((used << bits) | np.arange(len(used)))
    places, models = ordered & ((1 << bits) - 1), ordered >> bits
    again = np.flatnonzero(models[1:] == models[:-1])
    following = np.zeros(len(used), np.intp)
    following[places.take(again)] = places[1:].take(again)
    followed = following > 0
    before = np.flatnonzero(followed)
    return before, following.take(before), np.flatnonzero(~followed)


def _preceding(times: Places, weights: Sizes) -> Sizes:
    """`times` is some order of 0 to n-1. By time: the weight of what is earlier, both in time and in this order.

    Halves by time, as a radix sort: in each span of time, each of the later half gets the weight of those of the
    earlier half that stand before it. Then all earlier halves are put before all later ones (a wavelet matrix); they
    keep their order, and are spans themselves. In the last ones each is compared with all that stand before it.
    """
    count = max(LAST, 1 << max(0, len(times) - 1).bit_length())
    time: Sizes = np.concatenate((times, np.arange(len(times), count)))
    weight: Sizes = np.concatenate((weights, np.zeros(count - len(weights), np.int64)))
    total: Sizes = np.zeros(count, np.int64)
    middle = half = count // 2
    before = np.zeros(middle + 1, np.int64)
    while half >= LAST:
        is_late = (time & half).astype(bool)
        late = np.flatnonzero(is_late)
        parted = np.concatenate((np.flatnonzero(~is_late), late))
        time, weight, total = time.take(parted), weight.take(parted), total.take(parted)
        weight[:middle].cumsum(out=before[1:])
        early = late - np.arange(middle)  # how many of all earlier halves stand before each of the later ones
        total[middle:] += before.take(early) - before[:-1:half].repeat(half)
        half //= 2
    time, weight, total = (spans.reshape(-1, LAST).T.copy() for spans in (time, weight, total))
    for place in range(1, LAST):
        total[place] += (weight[:place] * (time[:place] < time[place])).sum(axis=0)
    by_time: Sizes = np.empty(count, np.int64)
    by_time[time] = total
    return by_time
