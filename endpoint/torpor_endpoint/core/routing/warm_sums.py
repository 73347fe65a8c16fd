"""Adds up warm requests: what a router has counted in a minute, for the ledger, however many they were."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from torpor_endpoint.core.ledger import Span, Sums, milliseconds, minute_of
from torpor_endpoint.core.ledger_records import NO_SECONDS, WarmRequests


class WarmSums(NamedTuple):
    """Warm requests for one model at one instance in one minute (see `WarmRequests`), added up."""

    at_s: float  # epoch seconds of one arrival
    endpoint: str
    variant: str
    model: str
    instance: str
    requests: int
    total_s: float
    predict_s: float
    predict_ms: int  # each request's rounded up
    request_bytes: int
    response_bytes: int
    span: Span | None = None
    container_s: Mapping[str, float] = NO_SECONDS
    shadow: bool = False
    face: str = ""  # as in WarmRequests

    @classmethod
    def of(cls, warm: WarmRequests) -> "WarmSums":
        span = None if warm.span_s is None else Span(*warm.span_s, warm.seconds, warm.moments)
        times = sum(warm.totals_s), sum(warm.predicts_s), sum(map(milliseconds, warm.predicts_s))
        sizes = warm.request_bytes, warm.response_bytes
        return cls(*warm[:5], len(warm.totals_s), *times, *sizes, span, warm.container_s, warm.shadow, warm.face)

    @property
    def alike(self) -> Hashable:
        """The same for requests that can be added up."""
        return minute_of(self.at_s), self[1:5], tuple(self.container_s), self.shadow, self.face

    def __or__(self, other: "WarmSums") -> "WarmSums":
        """Both together, which are alike."""
        spans = [one for one in (self.span, other.span) if one is not None]
        return self._replace(
            requests=self.requests + other.requests,
            total_s=self.total_s + other.total_s,
            predict_s=self.predict_s + other.predict_s,
            predict_ms=self.predict_ms + other.predict_ms,
            request_bytes=self.request_bytes + other.request_bytes,
            response_bytes=self.response_bytes + other.response_bytes,
            span=spans[0] | spans[1] if len(spans) == 2 else next(iter(spans), None),
            container_s={name: seconds + other.container_s[name] for name, seconds in self.container_s.items()},
        )

    def add_to(self, sums: Sums) -> None:
        """Add these to the sums of their minute."""
        sums.requests += self.requests
        sums.total_s += self.total_s
        sums.predict_s += self.predict_s
        sums.busy_ms += self.predict_ms
        sums.predict_ms += self.predict_ms
        sums.request_bytes += self.request_bytes
        sums.response_bytes += self.response_bytes
        sums.copies += self.requests * self.shadow
