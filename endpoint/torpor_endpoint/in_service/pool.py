"""The instances of one variant, as requests see them: which are ready, how busy, and how to have one come.

The owner of the instances makes the pool (`fleet.instance_pool`), and so does each router that follows the fleet
(`routing.router.followed_pool`).
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil

from torpor_endpoint.core.lifecycle import InstancePhase
from torpor_endpoint.core.model_choice.served_groups import ServedGroups
from torpor_endpoint.core.placement import BUSY_MIN, UNBOUNDED, Placement
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.routing.handing_over import Handover
from torpor_endpoint.core.sessions import SessionHolder, StatefulSessions
from torpor_endpoint.core.traffic import Touched, Traffic
from torpor_endpoint.core.versions.version_answers import ServedVersions
from torpor_endpoint.in_service.first_meeting import FirstMeeting
from torpor_endpoint.in_service.incarnation import Incarnation, StartTrouble
from torpor_endpoint.in_service.naming_neighbours import NamingNeighbours
from torpor_endpoint.in_service.newcomer_loading import AdapterOrders, ModelOrders, NewcomerLoading
from torpor_endpoint.in_service.variant_settings import TimeLimits, VariantSettings
from torpor_endpoint.in_service.wait_estimates import WaitEstimates


class VariantPool(ABC):
    """The pool may go on with another `variant` that has the same containers. It puts itself into `touched` when its
    requests at this router change.

    `answer_within_s` has the time limit of each container, in seconds.
    """

    def __init__(self, endpoint: str, variant: Variant, touched: Touched | None = None) -> None:
        """Raises BadSetting if a setting of the variant that the endpoint acts on cannot be read."""
        self.endpoint = endpoint
        self.variant = variant
        self.settings = VariantSettings.read(variant.containers)
        self.answer_within_s = [TimeLimits.read(one.environment).answer_within_s for one in variant.containers]
        self.waits = WaitEstimates()
        self.ready: Placement[Incarnation] = Placement(
            most_each(variant, self.settings.concurrency),
            hands_over=self._hand_over if variant.multi_model or variant.copies is not None else None,
            quicker=lambda model, one: self.waits.is_load_quicker(model, one),  # by whatever measures then
        )
        shares = self.settings.neighbours_bytes and variant.multi_model
        self.neighbours = NamingNeighbours(self.ready, time.time) if shares else None
        """Who may have a model's artifact; None for a variant whose instances share none."""
        orders = ModelOrders(self.neighbours) if variant.multi_model else AdapterOrders(self._adapters)
        self._newcomers = NewcomerLoading(self.ready, self.waits, orders)
        self.meeting = FirstMeeting(self.ready) if variant.multi_model else None
        """With instances that ran already; None for a variant of which all instances have the same models."""
        self.trouble: StartTrouble | None = None
        self.closed = False
        self.routers = 1  # that route to these instances: each has its part of what is bounded
        self.share: int | None = None  # this router's part of MaxConcurrency; None: all of it
        self.refused = 0  # requests beyond that share that no report has had yet
        self.traffic = Traffic(touched, self)
        self.versions = None if self.settings.versions is None else ServedVersions()
        """Which version answers each name; None for a variant whose models have no versions."""
        self.groups = ServedGroups() if self.settings.groups else None
        """The groups whose models are chosen by need; None for a variant without."""
        self.sessions = StatefulSessions()
        self.names_holders = False  # whether the ids of new sessions name the instance that holds them
        self._change = asyncio.Event()

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of instances that are wanted now."""

    @abstractmethod
    def wake(self) -> None:
        """Want at least one instance, because a request waits. A second call changes nothing while one is wanted."""

    def type_in(self, slot: int) -> str:
        """The type of the instance in this slot, or of the one on which the copy in this slot is."""
        return self.variant.instance_type or ""

    def place_of(self, slot: int) -> str:
        """Where the copy of an inference component in this slot is, for a person; empty for any other instance."""
        return ""

    @property
    def ready_types(self) -> list[str]:
        """The type of each instance that takes requests."""
        return [self.type_in(one.slot.number) for one in self.ready]

    @property
    def hopeless(self) -> bool:
        """Whether requests should stop waiting for an instance: the starts fail."""
        return self.trouble is not None and self.trouble.hopeless

    def admits(self) -> bool:
        """Whether one more request is within this router's part of the variant's MaxConcurrency."""
        if self.variant.serverless is None:
            return True
        most = self.variant.serverless.max_concurrency if self.share is None else self.share
        return self.traffic.in_flight - self.traffic.elsewhere < most

    def refuse(self) -> None:
        """A request was refused that is beyond this router's part."""
        self.refused += 1
        self.traffic.touch()

    def take_share(self, share: int) -> None:
        """This is the router's part of MaxConcurrency from now on."""
        if share != self.share:
            self.share = share
            self.traffic.touch()

    def shared_by(self, routers: int) -> None:
        """So many routers send requests to these instances."""
        self.routers = max(1, routers)
        self.ready.busy_min = ceil(BUSY_MIN / self.routers)

    def become(self, variant: Variant) -> None:
        """Go on with another variant that has the same containers."""
        self.variant = variant
        self.ready.most = most_each(variant, self.settings.concurrency)

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until the condition `true` holds. The pool checks it after each of its changes."""
        while not true():
            await self._change.wait()

    def begin_with(self, slots: Iterable[int]) -> None:
        """The instances in these slots ran before this process began to send to them."""
        if self.meeting is not None:
            self.meeting.expect(slots)

    async def meet(self, incarnation: Incarnation) -> None:
        """Hear which models an incarnation has that ran already, before it is offered."""
        if self.meeting is not None:
            await self.meeting.meet(incarnation)

    def _adapters(self) -> Mapping[str, str]:
        """Where each adapter is that these copies of an inference component serve, by name."""
        return {} if self.variant.copies is None else dict(self.variant.copies.adapters)

    def _hand_over(self, model: str, handover: Handover[Incarnation]) -> None:
        """An instance is to load the model, or the adapter, while another one serves it."""
        self._newcomers.begin(model, handover)

    def goes_on(self, incarnation: Incarnation, container: int) -> bool:
        """Whether an incarnation that is in use can take one more leg of its request, perhaps while it drains."""
        if incarnation.containers[container].has_ended:
            return False
        return incarnation.phase is InstancePhase.DRAINING or self.offered(incarnation)

    def lacked_room(self, incarnation: Incarnation, container: int) -> None:
        """Have the supervisor look whether other containers can give memory to this one."""
        incarnation.lacked_room(container)

    def holder(self, incarnation: Incarnation) -> SessionHolder:
        """The incarnation as a holder of sessions."""
        return SessionHolder(incarnation.slot.number, incarnation.id)

    @contextmanager
    def streaming(self, incarnation: Incarnation) -> Iterator[None]:
        """One of the requests that the incarnation has is a stream, which a drain waits for."""
        incarnation.streams += 1
        try:
            yield
        finally:
            incarnation.streams -= 1

    def released(self, incarnation: Incarnation) -> None:
        """Count one request of this incarnation as answered."""
        incarnation.answered()
        if incarnation.in_flight == 0 and incarnation.phase is InstancePhase.DRAINING:
            self.changed()

    def suspect(self, incarnation: Incarnation) -> None:
        """Send no requests to an incarnation that broke or refused a connection until it has answered a ping."""
        if self.offered(incarnation):
            self.ready.withdraw(incarnation.slot.number)
        incarnation.suspect()

    def offered(self, incarnation: Incarnation) -> bool:
        """Whether the instance takes requests."""
        return self.ready.get(incarnation.slot.number) is incarnation

    def changed(self) -> None:
        """The pool has changed: those who wait look again."""
        self.look_again()

    def look_again(self) -> None:
        """Have those who wait look again, though nothing has changed here."""
        self._change.set()
        self._change = asyncio.Event()


def most_each(variant: Variant, concurrency: int) -> int:
    """How many requests are placed on an instance at a time, while another one has room."""
    return UNBOUNDED if variant.asynchronous is None else variant.asynchronous.each(concurrency)
