"""The eviction policies by name: those of live instances and, apart, the offline references."""

from collections.abc import Callable

from torpor_container.core.eviction.eviction_policy import MayLeave, Nobody, Policy
from torpor_container.core.eviction.frequency import LFU, LRU2
from torpor_container.core.eviction.greedy_dual import GDSF, LANDLORD, LFUDA
from torpor_container.core.eviction.offline import Belady, BeladySize, Future
from torpor_container.core.eviction.recency import FIFO, LRU
from torpor_container.core.eviction.s3fifo import S3FIFO
from torpor_container.core.eviction.sieve import SIEVE
from torpor_container.core.eviction.tinylfu import TinyLFU

__all__ = [
    "FIFO",
    "GDSF",
    "LANDLORD",
    "LFU",
    "LFUDA",
    "LRU",
    "LRU2",
    "OFFLINE",
    "POLICIES",
    "S3FIFO",
    "SIEVE",
    "Belady",
    "BeladySize",
    "Future",
    "MayLeave",
    "Nobody",
    "Policy",
    "TinyLFU",
    "policy",
]

POLICIES: dict[str, Callable[[], Policy]] = {
    "LRU": LRU,
    "SIEVE": SIEVE,
    "LFUDA": LFUDA,
    "GDSF": GDSF,
    "LANDLORD": LANDLORD,
    "LFU": LFU,
    "LRU-2": LRU2,
    "S3-FIFO": S3FIFO,
    "TINYLFU": TinyLFU,
    "FIFO": FIFO,
}

OFFLINE: dict[str, Callable[[Future], Policy]] = {"BELADY": Belady, "BELADY-SIZE": BeladySize}
"""Offline references: what a policy could reach that knows the future."""


def policy(name: str) -> Policy:
    """Make a policy by its name, in any letter case. Raises ValueError that lists the known names."""
    try:
        return POLICIES[name.upper()]()
    except KeyError:
        raise ValueError(f"unknown eviction policy {name!r}: choose one of {', '.join(POLICIES)}") from None
