"""The records of instances that the router and the ledger use: one incarnation of a slot, and a failed start."""

import asyncio
from dataclasses import dataclass, field

from torpor_container.transport.multiplexed import Multiplexed
from torpor_container.transport.upstream import Upstream
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase, move_instance
from torpor_endpoint.core.placement import PlacedInstance
from torpor_endpoint.host import Slot

ATTEMPTS = 3
"""Requests stop waiting for an instance that fails to start this often in a row."""


@dataclass(eq=False)
class Incarnation(PlacedInstance):
    """One incarnation of a slot, with its connections. `life` is its row of the ledger."""

    slot: Slot
    id: str
    upstream: Upstream
    multiplexed: Multiplexed
    life: InstanceLife
    phase: InstancePhase = InstancePhase.STARTING
    in_flight: int = 0
    streams: int = 0  # of those in flight
    last_seq: int = 0  # the number of the last residency decision that the collector has read
    doubt: asyncio.Event = field(default_factory=asyncio.Event)  # set: the supervisor pings the instance now

    def hang_up(self) -> None:
        """Close all connections to the instance."""
        self.upstream.close()
        self.multiplexed.close()

    def happened(self, event: InstanceEvent) -> None:
        """Move to the phase that follows. Raises IllegalMove."""
        self.phase = move_instance(self.phase, event)


@dataclass(frozen=True)
class StartTrouble:
    """The last failed start, and how many failed in a row. `final`: another try cannot help."""

    reason: str
    failures: int
    final: bool

    @property
    def hopeless(self) -> bool:
        """Whether requests should stop waiting. The supervisor goes on trying."""
        return self.final or self.failures >= ATTEMPTS
