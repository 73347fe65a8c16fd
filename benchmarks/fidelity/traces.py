"""The traces of the comparison: Zipf's law over many models, with silences in which the endpoint scales to zero."""

from collections.abc import Sequence

import numpy as np

from torpor.workloads import Chunk, Recorded, zipf


def trace(models: int, exponent: float, requests: int, rate_hz: float, naps: int, nap_s: float, seed: int) -> Recorded:
    """`naps` silences of `nap_s` seconds, evenly among the requests. One seed, one trace."""
    made = zipf(models, exponent, rate_hz, 2 * requests / rate_hz, seed)
    chunks = list(made.chunks())
    times_s = np.concatenate([chunk.times_s for chunk in chunks])[:requests]
    numbers = np.concatenate([chunk.models for chunk in chunks])[:requests]
    popularity = np.random.default_rng([seed, 3]).permutation(models)  # which model is the popular one
    slept_s = nap_s * np.floor(np.arange(requests) * (naps + 1) / requests)
    return Recorded(made.names, [Chunk(times_s + slept_s, popularity[numbers].astype(np.int32))])


def everyone(names: Sequence[str], rate_hz: float) -> Recorded:
    """A trace with each model once: afterwards all models are on disk and in the ledger."""
    count = len(names)
    return Recorded(tuple(names), [Chunk(np.arange(count) / rate_hz, np.arange(count, dtype=np.int32))])
