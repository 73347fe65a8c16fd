"""Computes LRU's hit rate for every memory size in one pass over a trace: exactly, or from a sample of the models.

LRU keeps the models used last, as many as fit. So a request is a hit exactly if its model and the distinct others used
since its last use fit into memory together (Mattson's stack distance, by bytes). The residency gives the same answer if
requests come one after another; the simulator also considers the time of loads, and models in use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from torpor.hit_rates.distances import Distances
from torpor.workloads.trace import BadTrace, Ids, Sizes, Trace

CAPACITIES = 200
SAMPLES = 8

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Hits by ascending memory size. `error` is the standard error of the hit ratios: 0 if they are exact."""

    capacities_bytes: Sizes
    hits: Floats
    requests: int
    error: Floats

    @property
    def hit_ratio(self) -> Floats:
        return self.hits / self.requests

    @property
    def cold_starts(self) -> Floats:
        """Requests whose model was not in memory. Each is a load, unless several come at the same time."""
        return self.requests - self.hits

    def capacity_bytes(self, hit_ratio: float) -> int | None:
        """The smallest capacity with at least this hit ratio; None if none has it."""
        enough = np.flatnonzero(self.hit_ratio >= hit_ratio)
        return int(self.capacities_bytes[enough[0]]) if len(enough) else None


def lru_curve(trace: Trace, memory_bytes: Mapping[str, int], capacities_bytes: Sequence[int] | None = None) -> Curve:
    """The exact curve. `memory_bytes` has the size of every model.

    By default the capacities go from the largest model to all models. One that is smaller than a model takes more time:
    that model is never loaded, so the order of use is another one for this capacity.
    """
    capacities = _capacities(memory_bytes, capacities_bytes)
    sample = _Sample(_bands(memory_bytes, capacities, rate=1.0))
    requests = _count(trace, memory_bytes, [sample])
    return Curve(capacities, sample.hits, requests, np.zeros(len(capacities)))


def sampled_lru_curve(
    trace: Trace,
    memory_bytes: Mapping[str, int],
    rate: float,
    capacities_bytes: Sequence[int] | None = None,
    seed: int = 0,
) -> Curve:
    """An estimate from eight independent samples. Each has the share `rate` of the models, all requests for those, and
    distances scaled up (SHARDS, FAST'15, with its adjustment for a sample with more or fewer requests than its share).

    The error is the spread between the samples: it does not contain what all eight have in common, as with too few
    models. A sample takes about its share of the exact curve's time, so eight save time at a rate of 0.01, not of 0.1.
    """
    if not 0 < rate <= 1:
        raise ValueError(f"a sampling rate is above 0 and at most 1, not {rate}")
    capacities = _capacities(memory_bytes, capacities_bytes)
    salts = np.random.SeedSequence(seed).generate_state(SAMPLES, np.uint64).tolist()
    samples = [_Sample(_bands(memory_bytes, capacities, rate), rate, salt) for salt in salts]
    requests = _count(trace, memory_bytes, samples)
    hits = np.array([np.clip(requests - (one.requests - one.hits) / rate, 0, requests) for one in samples])
    error = hits.std(axis=0, ddof=1) / requests / SAMPLES**0.5
    return Curve(capacities, hits.mean(axis=0), requests, error)


# -- inside ------------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class _Band:
    """Capacities in which the same models fit, and which so share one order of use."""

    largest_bytes: int
    capacities_bytes: Sizes
    rate: float
    hits: Sizes = field(init=False)

    def __post_init__(self) -> None:
        self.hits = np.zeros(len(self.capacities_bytes), np.int64)
        self._distances = Distances()
        self._held: Ids = np.empty(0, np.int32)

    def add(self, models: Ids, size_bytes: Sizes) -> None:
        fits = size_bytes[models] <= self.largest_bytes
        self._held = np.concatenate((self._held, models if fits.all() else models[fits]))
        while len(self._held) >= (block := self._distances.block_requests):
            self._measure(self._held[:block], size_bytes)
            self._held = self._held[block:]

    def end(self, size_bytes: Sizes) -> None:
        self._measure(self._held, size_bytes)

    def _measure(self, models: Ids, size_bytes: Sizes) -> None:
        others_bytes, own_bytes = self._distances.of(models, size_bytes)
        needed_bytes = np.sort(others_bytes / self.rate + own_bytes)  # exact up to 2^53 bytes
        self.hits += np.searchsorted(needed_bytes, self.capacities_bytes, side="right")


@dataclass(eq=False)
class _Sample:
    """The requests for a sample of the models: those whose number has a small hash."""

    bands: Sequence[_Band]
    rate: float = 1.0
    salt: int = 0
    requests: int = 0
    _known: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))

    @property
    def hits(self) -> Floats:
        return np.concatenate([band.hits for band in self.bands]).astype(np.float64)

    def add(self, models: Ids, size_bytes: Sizes) -> None:
        if self.rate < 1:
            models = models[self._chosen(len(size_bytes))[models]]
        self.requests += len(models)
        for band in self.bands:
            band.add(models, size_bytes)

    def _chosen(self, models: int) -> NDArray[np.bool_]:
        if models > len(self._known):
            numbers = np.arange(len(self._known), models, dtype=np.uint64)
            self._known = np.concatenate((self._known, _hash(numbers + np.uint64(self.salt)) < self.rate * 2.0**64))
        return self._known


def _count(trace: Trace, memory_bytes: Mapping[str, int], samples: Sequence[_Sample]) -> int:
    """Pass all requests to the samples. Returns their number."""
    requests = 0
    sizes_bytes = np.empty(0, np.int64)
    for chunk in trace.chunks():
        if len(trace.names) > len(sizes_bytes):
            more = [_size(memory_bytes, name) for name in trace.names[len(sizes_bytes) :]]
            sizes_bytes = np.concatenate((sizes_bytes, np.array(more, np.int64)))
        for sample in samples:
            sample.add(chunk.models, sizes_bytes)
        requests += len(chunk)
    for sample in samples:
        for band in sample.bands:
            band.end(sizes_bytes)
    return requests


def _size(memory_bytes: Mapping[str, int], name: str) -> int:
    if name not in memory_bytes:
        raise BadTrace(f"model {name!r} is called, and its size is not given")
    return memory_bytes[name]


def _bands(memory_bytes: Mapping[str, int], capacities_bytes: Sizes, rate: float) -> list[_Band]:
    sizes_bytes = np.unique(np.array([0, *memory_bytes.values()], np.int64))
    largest_bytes = sizes_bytes[np.searchsorted(sizes_bytes, capacities_bytes, side="right") - 1]
    return [
        _Band(largest, capacities_bytes[largest_bytes == largest], rate)
        for largest in np.unique(largest_bytes).tolist()
    ]


def _hash(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hash of splitmix64: each bit of the number changes all bits of the result."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _capacities(memory_bytes: Mapping[str, int], asked_bytes: Sequence[int] | None) -> Sizes:
    if not memory_bytes:
        raise BadTrace("no model has a size")
    for name, size_bytes in memory_bytes.items():
        if size_bytes <= 0:
            raise BadTrace(f"model {name!r} has a size of {size_bytes} bytes")
    if asked_bytes is None:
        ends = max(memory_bytes.values()), sum(memory_bytes.values())
        return np.unique(np.ceil(np.geomspace(*ends, CAPACITIES)).astype(np.int64))
    if not len(asked_bytes) or min(asked_bytes) <= 0:
        raise ValueError("a curve needs capacities of more than 0 bytes")
    return np.unique(np.array(asked_bytes, dtype=np.int64))
