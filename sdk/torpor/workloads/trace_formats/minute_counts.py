"""Turns counts of requests by the minute into single requests, at random times in their minute."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torpor.time_units import MINUTE_S
from torpor.workloads.trace import CHUNK_REQUESTS, Chunk, Ids, Sizes, Times


@dataclass(frozen=True, eq=False)
class MinuteCounts:
    """A row for each minute and model: when the minute begins, the model, and the number of requests."""

    begins_s: Times
    models: Ids
    counts: Sizes

    def __getitem__(self, rows: NDArray[np.intp] | slice) -> "MinuteCounts":
        return MinuteCounts(self.begins_s[rows], self.models[rows], self.counts[rows])


def merge(parts: Sequence[MinuteCounts]) -> MinuteCounts:
    """All rows, in order of time."""
    rows = MinuteCounts(
        np.concatenate([np.empty(0), *(part.begins_s for part in parts)]),
        np.concatenate([np.empty(0, np.int32), *(part.models for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)]),
    )
    return rows[np.argsort(rows.begins_s, kind="stable")]


def to_chunks(rows: MinuteCounts, rng: np.random.Generator) -> Iterator[Chunk]:
    """The requests of these rows, which are in order of time. A chunk has whole minutes."""
    if not len(rows.counts):
        return
    starts = np.flatnonzero(np.diff(rows.begins_s, prepend=-np.inf))  # of minutes
    before = np.concatenate(([0], np.cumsum(rows.counts)))[starts]  # requests
    firsts = starts[np.flatnonzero(np.diff(before // CHUNK_REQUESTS, prepend=-1))]
    for first, following in zip(firsts, [*firsts[1:], len(rows.begins_s)], strict=True):
        part = rows[slice(first, following)]
        times_s = within(rng, part.begins_s, part.counts)
        order = np.argsort(times_s, kind="stable")
        yield Chunk(times_s[order], np.repeat(part.models, part.counts)[order])


def within(rng: np.random.Generator, begins_s: Times, counts: Sizes) -> Times:
    """`counts` random times in each of these minutes, unsorted."""
    moments_s: Times = np.repeat(begins_s, counts) + MINUTE_S * rng.random(int(counts.sum()))
    return moments_s
