"""Instances as the router and the ledger see them: one incarnation of a slot, and what went wrong with a start."""

import asyncio
from dataclasses import dataclass, field

from torpor_container.transport.multiplexed import Multiplexed
from torpor_container.transport.upstream import Upstream
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase, move_instance
from torpor_endpoint.core.placement import PlacedInstance
from torpor_endpoint.host import Slot

ATTEMPTS = 3
"""An instance that fails to start this often in a row is not waited for."""


@dataclass(eq=False)
class InstanceMember(PlacedInstance):
    """One incarnation of a slot, as the router sees it. `life` is what the ledger is told of it."""

    slot: Slot
    incarnation: str
    upstream: Upstream
    multiplexed: Multiplexed
    life: InstanceLife
    phase: InstancePhase = InstancePhase.STARTING
    in_flight: int = 0
    last_seq: int = 0  # the last decision read from it
    doubt: asyncio.Event = field(default_factory=asyncio.Event)  # the watch shall look now

    def hang_up(self) -> None:
        """Close all connections to it."""
        self.upstream.close()
        self.multiplexed.close()

    def happened(self, event: InstanceEvent) -> None:
        self.phase = move_instance(self.phase, event)


@dataclass(frozen=True)
class StartTrouble:
    """The last start that failed, and how many failed in a row."""

    reason: str
    failures: int
    final: bool

    @property
    def hopeless(self) -> bool:
        """Whether nobody should wait for the next start. It is tried all the same."""
        return self.final or self.failures >= ATTEMPTS
