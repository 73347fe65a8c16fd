"""The records of instances that requests use: one incarnation of a slot, its containers, and a failed start."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from torpor_container import wire
from torpor_container.transport.multiplexed import Multiplexed
from torpor_container.transport.stream_client import StreamConnection, streamed
from torpor_container.transport.upstream import Headers, Upstream
from torpor_container.transport.upstream_answers import Body
from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase, move_instance
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.core.routing.ready_slots import FleetLoad, PlacedInstance
from torpor_endpoint.host import Launched, Slot

ATTEMPTS = 3
"""Requests stop waiting for an instance that fails to start this often in a row."""


@dataclass(eq=False)
class LiveContainer:
    """The present process of one container of an instance, with the connections to it."""

    definition: Container
    launched: Launched
    upstream: Upstream
    multiplexed: Multiplexed
    ended: "asyncio.Future[Launched]"  # done when the process has ended; cancelled when nobody watches it any more
    well: bool = False  # it answered its last ping, and has not been suspected since
    last_seq: int = 0  # the number of the last residency decision that the collector has read
    shared_seq: int = 0  # and the number of the last one that those who share the memory have read
    from_neighbours: int = 0  # artifacts, of which the collector has read
    lacked_room: bool = False  # a model found no memory, or another left for it, since the last look
    doubt: asyncio.Event = field(default_factory=asyncio.Event)  # set: the supervisor pings the container now

    @classmethod
    def of(cls, definition: Container, launched: Launched, ended: "asyncio.Future[Launched]") -> "LiveContainer":
        """Makes the connections, and opens none. Raises ValueError for one without a place."""
        address = launched.placed_at
        return cls(definition, launched, Upstream(address), Multiplexed(address, wire.INVOCATIONS), ended)

    @property
    def id(self) -> str:
        return self.launched.incarnation

    @property
    def log(self) -> Path | None:
        return self.launched.log

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, as far as somebody watches it."""
        return self.ended.done() and not self.ended.cancelled()

    def streamed(
        self, headers: Headers, body: Body, timeout_s: float, sent: Callable[[], None] | None
    ) -> AbstractAsyncContextManager[StreamConnection]:
        """Invoke the container, on a connection whose answer is taken part by part (`stream_client.streamed`)."""
        return streamed(self.upstream.address, wire.INVOCATIONS, headers, body, timeout_s, sent)

    def suspect(self) -> None:
        """Have the supervisor ping the container now."""
        self.well = False
        self.doubt.set()

    def hang_up(self) -> None:
        """Close all connections to the container."""
        self.upstream.close()
        self.multiplexed.close()


@dataclass(eq=False)
class Incarnation(PlacedInstance):
    """One incarnation of a slot, with a process for each container of the model.

    A container whose process ends gets another one, and the incarnation goes on, as long as one of the others lives:
    they keep their models.
    """

    slot: Slot
    id: str
    containers: list[LiveContainer]
    phase: InstancePhase = InstancePhase.STARTING
    in_flight: int = 0
    fleet: FleetLoad = field(default_factory=FleetLoad)
    streams: int = 0  # of those in flight
    lacks_room: asyncio.Event = field(default_factory=asyncio.Event)  # set: the supervisor shares the memory anew now

    @property
    def well(self) -> bool:
        """Whether all containers are well."""
        return all(container.well for container in self.containers)

    def lacked_room(self, container: int) -> None:
        """Have the supervisor look whether other containers can give memory to this one."""
        self.containers[container].lacked_room = True
        self.lacks_room.set()

    def suspect(self) -> None:
        """Have the supervisor ping all containers now."""
        for container in self.containers:
            container.suspect()

    def hang_up(self) -> None:
        """Close all connections to the instance."""
        for container in self.containers:
            container.hang_up()

    def happened(self, event: InstanceEvent) -> None:
        """Move to the phase that follows. Raises IllegalMove."""
        self.phase = move_instance(self.phase, event)


@dataclass(frozen=True)
class StartTrouble:
    """The last failed start, and how many failed in a row. `final`: another try cannot help. `machine`: the machine
    failed it, and no model.

    `containers` names those that did not become ready.
    """

    reason: str
    failures: int
    final: bool
    containers: tuple[str, ...] = ()
    machine: bool = False

    @property
    def hopeless(self) -> bool:
        """Whether requests should stop waiting. The supervisor goes on trying."""
        return self.final or self.failures >= ATTEMPTS
