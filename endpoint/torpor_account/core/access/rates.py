"""How many calls each principal may make: a token bucket for each kind of call. Pure; the time comes in.

A principal is a user, a role or the root, and not a session: a role's sessions share its bucket. A limit of N lets
through N calls at once, and N in each second from then on.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from enum import Enum
from math import inf
from typing import NamedTuple

PRINCIPALS_MAX = 10_000
"""The most buckets of one kind that are kept. Beyond it, the one that was used the longest ago is full again."""


class CallKind(Enum):
    """The kinds of calls that have a limit each, by their names in `--rate-limit`."""

    INVOCATIONS = "invocations"  # of SageMaker's runtime
    CONTROL = "control"  # all other services but S3
    S3 = "s3"
    PAGES = "pages"  # Torpor's own pages and the dashboard


class BadRate(ValueError):
    """A limit that cannot be read. The message says what to write."""


class TokenBucket(NamedTuple):
    """`tokens` of them were there at `at_s`."""

    tokens: float
    at_s: float

    def filled(self, rate: float, now_s: float) -> float:
        """How many are there now. A clock that goes back fills nothing."""
        return min(burst(rate), self.tokens + max(now_s - self.at_s, 0.0) * rate)


def burst(rate: float) -> float:
    """The most tokens of a bucket: those of one second, and never less than one."""
    return max(rate, 1.0)


class CallLimit:
    """One limit, for every principal by itself. It keeps a bucket only for those that have called."""

    def __init__(self, rate: float, principals_max: int = PRINCIPALS_MAX) -> None:
        """`rate` is in calls per second."""
        self.rate = self._whole = rate
        self.asked = 0  # calls that came, those that are refused among them
        self._principals_max = principals_max
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def shared_by(self, ports: int) -> None:
        """Let through a share from now on, if so many ports have one each. 0 is a number that nobody knows yet: the
        share is nothing, and each principal has the one call of a full bucket."""
        self.rate = self._whole / ports if ports else 0.0

    def allows(self, principal: str, now_s: float) -> bool:
        """Whether a call would be let through. It takes nothing."""
        bucket = self._buckets.get(principal)
        return bucket is None or bucket.filled(self.rate, now_s) >= 1.0

    def take(self, principal: str, now_s: float) -> bool:
        """Whether a call is let through; it is counted then. One that is refused costs nothing."""
        self.asked += 1
        bucket = self._buckets.get(principal)
        tokens = burst(self.rate) if bucket is None else bucket.filled(self.rate, now_s)
        if tokens < 1.0:
            return False
        self._buckets[principal] = TokenBucket(tokens - 1.0, now_s)
        self._buckets.move_to_end(principal)
        if len(self._buckets) > self._principals_max:
            self._buckets.popitem(last=False)
        return True

    @property
    def principals(self) -> int:
        """How many buckets are kept."""
        return len(self._buckets)


class CallRates:
    """The limits of an endpoint, by kind. A kind without one has none.

    Invocations come to several ports, the endpoint's own and those of routers: each of them lets through a share.
    """

    def __init__(self, per_second: Mapping[CallKind, float]) -> None:
        self.ports = 1
        self._limits = {kind: CallLimit(rate) for kind, rate in per_second.items()}

    @classmethod
    def read(cls, texts: Iterable[str]) -> "CallRates":
        """From `KIND=N`, each kind once. Raises BadRate."""
        found: dict[CallKind, float] = {}
        for text in texts:
            kind, rate = _read(text)
            if kind in found:
                raise BadRate(f"{kind.value} is given twice")
            found[kind] = rate
        return cls(found)

    def of(self, kind: CallKind) -> CallLimit | None:
        return self._limits.get(kind)

    def shared_by(self, ports: int) -> None:
        """So many ports share the limit of invocations; 0 where that is not known yet."""
        self.ports = ports
        limit = self.of(CallKind.INVOCATIONS)
        if limit is not None:
            limit.shared_by(ports)


def _read(text: str) -> tuple[CallKind, float]:
    name, _, number = text.partition("=")
    kinds = {kind.value: kind for kind in CallKind}
    try:
        rate = float(number)
    except ValueError:
        rate = 0.0
    if name not in kinds or not 0 < rate < inf:
        text_of = ", ".join(kinds)
        raise BadRate(f"{text!r} is not KIND=N: KIND is one of {text_of}, and N is in calls per second, more than 0")
    return kinds[name], rate
