"""The traffic of the comparison: Zipf's law over many models, with silences in which the endpoint falls asleep."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torpor.simulator.workloads import Chunk, Recorded, zipf


def trace(models: int, exponent: float, requests: int, rate_hz: float, naps: int, nap_s: float, seed: int) -> Recorded:
    """`naps` silences of `nap_s` seconds, evenly among the requests. One seed, one trace."""
    made = zipf(models, exponent, rate_hz, 2 * requests / rate_hz, seed)
    chunks = list(made.chunks())
    times_s = np.concatenate([chunk.times_s for chunk in chunks])[:requests]
    numbers = np.concatenate([chunk.models for chunk in chunks])[:requests]
    popularity = np.random.default_rng([seed, 3]).permutation(models)  # which model is the popular one
    slept_s = nap_s * np.floor(np.arange(requests) * (naps + 1) / requests)
    return Recorded(made.names, [Chunk(times_s + slept_s, popularity[numbers].astype(np.int32))])


@dataclass(frozen=True, eq=False)
class Days:
    """The days of a trace: each begins as a silence ends. They are numbered from 0."""

    starts_s: NDArray[np.float64]

    @classmethod
    def of_trace(cls, made: Recorded, naps: int) -> "Days":
        times_s = np.concatenate([chunk.times_s for chunk in made.chunks()])
        days = np.arange(len(times_s)) * (naps + 1) // len(times_s)
        return cls(times_s[np.searchsorted(days, np.arange(naps + 1))])

    def of(self, times_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """In which day each moment is."""
        days: NDArray[np.int64] = np.searchsorted(self.starts_s[1:], times_s, side="right")
        return days


def everyone(names: Sequence[str], rate_hz: float) -> Recorded:
    """Each model once: afterwards all are on disk, and known to the ledger."""
    count = len(names)
    return Recorded(tuple(names), [Chunk(np.arange(count) / rate_hz, np.arange(count, dtype=np.int32))])
