"""Adds up ended requests that differ in their times only: any number of them are one row of a router's report."""

from array import array
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from torpor_account.metrics.tally import PackedTally, Tally
from torpor_endpoint.runtime.observing.meter import MICROSECONDS, AlikeRequests, Concurrency, TalliedRequests


class SentTally(NamedTuple):
    """A tally as it is sent: `keys` are those of its sketch."""

    samples: float
    sum: float
    minimum: float
    maximum: float
    keys: Sequence[int]
    counts: Sequence[float]

    @classmethod
    def of(cls, tally: Tally) -> "SentTally | None":
        """None without a sample."""
        if not tally.count:
            return None
        counts = dict(tally.items())
        return cls(tally.count, tally.sum, tally.minimum, tally.maximum, list(counts), list(counts.values()))

    def packed(self) -> PackedTally:
        return PackedTally(*self[:4], array("i", self.keys), array("d", self.counts))


class SentRequests(NamedTuple):
    """Requests of one variant in one minute (see `AlikeRequests`), added up, as they are sent."""

    instances: int
    status: int | None
    hit: bool | None
    requests: int
    model: SentTally | None
    overhead: SentTally | None
    loading: SentTally | None
    concurrency: Sequence[tuple[Concurrency, int]]
    queued: bool
    deployed_by: str
    face: str = ""

    def tallied(self) -> TalliedRequests:
        model, overhead, loading = map(_packed, (self.model, self.overhead, self.loading))
        return TalliedRequests(*self[:4], model, overhead, loading, *self[7:])


class RequestSums:
    """Adds up requests that are alike."""

    def __init__(self, first: AlikeRequests) -> None:
        self._first = first
        self._requests = 0
        self._model, self._overhead, self._loading = Tally(), Tally(), Tally()
        self._concurrency: Counter[Concurrency] = Counter()

    @staticmethod
    def alike(samples: AlikeRequests) -> Hashable:
        """The same for requests that can be added up."""
        return samples.instances, samples.status, samples.hit, samples.queued, samples.deployed_by, samples.face

    def add(self, samples: AlikeRequests) -> None:
        self._requests += len(samples.model_s)
        self._model.add_all([took_s * MICROSECONDS for took_s in samples.model_s])
        self._overhead.add_all([took_s * MICROSECONDS for took_s in samples.overhead_s])
        self._loading.add_all([took_s * MICROSECONDS for took_s in samples.loading_s])
        self._concurrency.update(samples.concurrency)

    def sent(self) -> SentRequests:
        first, seen = self._first, list(self._concurrency.items())
        model, overhead, loading = map(SentTally.of, (self._model, self._overhead, self._loading))
        alike = first.instances, first.status, first.hit
        constant = first.queued, first.deployed_by, first.face
        return SentRequests(*alike, self._requests, model, overhead, loading, seen, *constant)


def _packed(tally: SentTally | None) -> PackedTally | None:
    return None if tally is None else tally.packed()
