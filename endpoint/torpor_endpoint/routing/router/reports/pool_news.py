"""Which pools of a router have something to tell the control, so that nobody has to look at all of them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torpor_endpoint.core.traffic import Touched

if TYPE_CHECKING:
    from torpor_endpoint.routing.router.followed_pool import FollowedPool


@dataclass(frozen=True)
class PoolNews:
    """`touched` has the pools whose requests have changed since the last look, and `parting` those with instances that
    left the table and have requests of this router."""

    touched: Touched = field(default_factory=dict)
    parting: "set[FollowedPool]" = field(default_factory=set)
