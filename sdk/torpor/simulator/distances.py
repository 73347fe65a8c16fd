"""LRU stack distances by bytes, for a block of requests at once: numpy does what a tree does one request at a time.

For a request at place t for a model that was last used at place p, with prev(s) the place of the use before place s,

    bytes of the other models used since  =  Σ size(s) over s < t with prev(s) < p, or none  -  Σ size(s) over s ≤ p

since of the uses after p those count that are the first after p (Bennett and Kruskal's count, with sizes). Between
blocks only the models in the order of their last use are kept, so memory grows with the models, not with the trace.
"""

import numpy as np
from numpy.typing import NDArray

from torpor.simulator.workloads.trace import Ids, Sizes

Places = NDArray[np.intp]
BLOCK_REQUESTS = 8_192
"""The work for a request grows with the logarithm of its block, that for a block with the number of models."""


class Distances:
    """Of one trace, block by block."""

    def __init__(self) -> None:
        self._recent: Ids = np.empty(0, np.int32)  # each model that was met, the one used longest ago first

    @property
    def block_requests(self) -> int:
        """How many requests at once take the least time each: a power of two."""
        return max(BLOCK_REQUESTS, 1 << (4 * len(self._recent)).bit_length())

    def of(self, models: Ids, size_bytes: Sizes) -> tuple[Sizes, Sizes]:
        """For each request whose model was met before, in no order: the bytes of the other models that were used since
        its last use, and its own. `size_bytes` has the size of each model at its number."""
        met = len(self._recent)
        used = np.concatenate((self._recent, models))
        before, later, last = _links(used)
        self._recent = used[last]
        sizes = size_bytes[used]
        first = np.ones(len(used), dtype=bool)
        first[later] = False
        anew = met + np.flatnonzero(first[met:])
        times = np.concatenate((later, anew)) - met
        weights = np.concatenate((sizes[later], np.zeros(len(anew), np.int64)))
        nested = _preceding(times, weights)[later - met]
        return np.cumsum(sizes * first)[later] + nested - np.cumsum(sizes)[before], sizes[later]


def _links(used: Ids) -> tuple[Places, Places, Places]:
    """Each use that another of its model follows, in order of place; those that follow; and all last uses."""
    bits = len(used).bit_length()
    ordered: Sizes = np.sort((used.astype(np.int64) << bits) | np.arange(len(used)))
    places, models = ordered & ((1 << bits) - 1), ordered >> bits
    again = np.flatnonzero(models[1:] == models[:-1])
    following = np.zeros(len(used), np.intp)
    following[places[again]] = places[again + 1]
    before = np.flatnonzero(following)
    return before, following[before], np.flatnonzero(following == 0)


def _preceding(times: Places, weights: Sizes) -> Sizes:
    """`times` is some order of 0 to n-1. By time: the weight of what is earlier, both in time and in this order.

    Halves by time, as a radix sort: in each span of time, whoever is of the later half gets the weight of those of the
    earlier half that stand before it. The halves are then parted, keep their order, and are spans themselves.
    """
    count = 1 << max(0, len(times) - 1).bit_length()
    padding = np.arange(len(times), count)
    time = np.concatenate((times, padding)).astype(np.uint32)
    weight = np.concatenate((weights, np.zeros(len(padding), np.int64)))
    total = np.zeros(count, np.int64)
    parted = np.empty(count, np.intp)
    half = count // 2
    while half:
        late = (time & half).astype(bool)
        early = ~late
        given = (weight * early).reshape(-1, 2 * half).cumsum(axis=1).ravel()
        given *= late
        total += given
        halves = parted.reshape(-1, 2, half)
        halves[:, 0] = np.flatnonzero(early).reshape(-1, half)
        halves[:, 1] = np.flatnonzero(late).reshape(-1, half)
        time, weight, total = time[parted], weight[parted], total[parted]
        half //= 2
    return total
