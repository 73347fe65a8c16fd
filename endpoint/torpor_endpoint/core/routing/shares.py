"""Shares a variant's MaxConcurrency among routers: each admits requests up to its own share, and asks nobody.

The shares follow the demand. A share grows only by what others have given back: while all routers reach one running
control, they never admit more than the limit together. After a restart or a network split they may: a router that has
no answer for ten seconds goes on with an equal part of the limit at most, and the control gives its share to others. A
control that starts anew knows the shares of those that have reported. Knative's activators share
a revision's capacity alike, without a promise.
"""

from collections.abc import Mapping
from typing import NamedTuple


class ShareHolder(NamedTuple):
    """What one router has of the limit, and what it needs."""

    granted: int = 0  # the share that it was given last
    confirmed: int = 0  # the most that it may use: the share that it has applied, or its requests if they are more
    demand: int = 0  # its requests in flight, and those that it refused since its last report

    @property
    def held(self) -> int:
        """The most that it may have in flight now."""
        return max(self.granted, self.confirmed)


def grant(limit: int, router: str, holders: Mapping[str, ShareHolder]) -> int:
    """The share of this router from now on, which is one of the holders."""
    free = limit - sum(holder.held for name, holder in holders.items() if name != router)
    return max(0, min(fair_shares(limit, {name: one.demand for name, one in holders.items()})[router], free))


def fair_shares(limit: int, demands: Mapping[str, int]) -> dict[str, int]:
    """The limit in shares: as much as each needs, as long as there is enough; what is left over in equal parts.

    If there is not enough, the largest demands get equal shares (max-min fairness). They add up to the limit, unless
    nobody is there.
    """
    shares, left = dict[str, int](), limit
    open_ = sorted(demands, key=lambda name: (demands[name], name))
    while open_:
        name = open_.pop(0)
        shares[name] = min(demands[name], left // (len(open_) + 1))
        left -= shares[name]
    for place, name in enumerate(sorted(demands)):  # something is left only if every demand is met
        more, rest = divmod(left, len(demands))
        shares[name] += more + (place < rest)
    return shares
