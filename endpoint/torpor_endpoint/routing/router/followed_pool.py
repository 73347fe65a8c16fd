"""A router's pool of one variant: it follows the control's table, and keeps its own connections to the instances."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from torpor_container import wire
from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_container.waiting.quiet_timeout import patiently
from torpor_endpoint.clocks.repeating import repeated
from torpor_endpoint.core.lifecycle import InstanceEvent, InstancePhase
from torpor_endpoint.core.model_choice.served_groups import ServedGroups
from torpor_endpoint.core.versions.version_answers import ServedVersions
from torpor_endpoint.host import Launched
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.routing.protocol.routing_table import RoutedVariant
from torpor_endpoint.routing.router.reports.pool_news import PoolNews

ANSWERS_WITHIN_S = 2.0
LOOK_S = 5.0
"""How often an instance is looked at that nothing is wrong with: a lost connection is opened again."""
SUSPECT_PAUSE_S = 0.1
OK = 200


class FollowedPool(VariantPool):
    """`want` asks the control for an instance, and is called again and again while requests wait."""

    def __init__(self, endpoint: str, routed: RoutedVariant, want: Callable[["FollowedPool"], None], news: PoolNews):
        """Raises BadSetting."""
        super().__init__(endpoint, routed.variant, news.touched)
        self.key = endpoint, routed.variant.name  # as the endpoint has it now (`LiveEndpoint.by_key`)
        self._news = news
        self.names_holders = True
        self.share = 0  # until the control gives it one
        self._want = want
        self._wanted = 0
        self._asked = False  # the control was asked for an instance, and has not answered by a table yet
        self._followed: dict[str, Incarnation] = {}  # by incarnation
        self._told: dict[str, Sequence[Launched]] = {}  # what the table had of each of them
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[Incarnation] = set()
        self.apply(routed)
        self.begin_with([one.slot.number for one in self._followed.values()])

    @property
    def size(self) -> int:
        return max(self._wanted, self._asked)

    def wake(self) -> None:
        if not self.size and not self.closed:
            self._asked = True
            self._want(self)

    def answered(self) -> None:
        """The control has heard that an instance is wanted. Its next table says what became of it."""
        self._asked = False
        self.changed()

    @property
    def in_use(self) -> set[str]:
        """The instances that left the table and have requests of this router."""
        return {one.id for one in self._leaving}

    @property
    def streams(self) -> set[str]:
        """Those of them that have streams of this router."""
        return {one.id for one in self._leaving if one.streams}

    def lapse(self) -> None:
        """Admit no more than an equal part of MaxConcurrency: the control has not answered for long, and may have given
        this router's share to others. A router that had a share goes on with one request at least."""
        if self.share and self.variant.serverless is not None:
            equal_part = self.variant.serverless.max_concurrency // (self.routers + 1)  # the control has one too
            self.take_share(min(self.share, max(1, equal_part)))

    def apply(self, routed: RoutedVariant) -> None:
        """Follow a new version of the table."""
        self.become(routed.variant)
        self._wanted = routed.wanted
        self.trouble = routed.trouble if routed.wanted else None  # else it belongs to an earlier start
        if routed.versions is not None:
            self.versions = ServedVersions({one.name: one.answering() for one in routed.versions})
        if routed.groups is not None:
            self.groups = ServedGroups(routed.groups)
        # most rows are the very ones of the last table: an instance that comes costs little beside many others
        for name in [name for name, told in self._told.items() if routed.instances.get(name) is not told]:
            if not _is_same(launches := routed.instances.get(name), self._followed[name]):
                self._leave(name)
            elif launches is not None:
                self._told[name] = launches
        for name, launches in routed.instances.items():
            if name not in self._followed:
                self._follow(name, launches)
        self.changed()

    def place(self, key: str) -> None:
        """This is the pool's key at its endpoint from now on."""
        if self.key[1] != key:
            self.key = self.endpoint, key
            self.traffic.touch()

    def close(self) -> None:
        """Take no more requests. Those in flight are answered."""
        self.closed = True
        self._newcomers.end()
        self.traffic.touch()
        for name in list(self._followed):
            self._leave(name)
        self.changed()

    def released(self, incarnation: Incarnation) -> None:
        super().released(incarnation)
        if not incarnation.in_flight and incarnation in self._leaving:
            self._leaving.discard(incarnation)
            incarnation.hang_up()
            if not self._leaving:
                self._news.parting.discard(self)

    # -- one instance ----------------------------------------------------------------------------------------------
    def _follow(self, name: str, launches: Sequence[Launched]) -> None:
        never: asyncio.Future[Launched] = asyncio.get_running_loop().create_future()  # the control sees them end
        containers = [
            LiveContainer.of(definition, launched, never)
            for definition, launched in zip(self.variant.containers, launches, strict=True)
        ]
        incarnation = Incarnation(launches[0].slot, name, containers, InstancePhase.READY)
        self._followed[name], self._told[name] = incarnation, launches
        watched = repeated(f"watch {incarnation.slot}", partial(self._watch, incarnation), asyncio.sleep)
        self._watching[name] = asyncio.create_task(watched)

    def _leave(self, name: str) -> None:
        incarnation = self._followed.pop(name)
        del self._told[name]
        self._watching.pop(name).cancel()
        if self.offered(incarnation):
            self.ready.withdraw(incarnation.slot.number)
        incarnation.happened(InstanceEvent.RETIRE)
        if incarnation.in_flight:
            self._leaving.add(incarnation)
            self._news.parting.add(self)
        else:
            incarnation.hang_up()

    async def _watch(self, incarnation: Incarnation) -> None:
        """Offer the instance while its containers answer, until cancelled. A suspected one is pinged at once."""
        unknown = self.meeting
        while True:
            if not self.offered(incarnation) and await _answers(incarnation):
                if unknown is not None:
                    await unknown.meet(incarnation)
                    unknown = None
                self.ready.offer(incarnation.slot.number, incarnation)
                self.changed()
            elif unknown is not None:
                unknown.heard(incarnation.slot.number)
            pause_s = LOOK_S if self.offered(incarnation) else SUSPECT_PAUSE_S
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await _doubted(incarnation)
            for container in incarnation.containers:
                container.doubt.clear()
            if self.offered(incarnation):
                await _connect(incarnation)


def _is_same(launches: Sequence[Launched] | None, followed: Incarnation) -> bool:
    """Whether the table still has the instance, with the same processes."""
    return launches is not None and [one.incarnation for one in launches] == [one.id for one in followed.containers]


async def _doubted(incarnation: Incarnation) -> None:
    """Returns when somebody suspects a container."""
    waits = [asyncio.ensure_future(one.doubt.wait()) for one in incarnation.containers]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _answers(incarnation: Incarnation) -> bool:
    """Whether all containers answer a ping. The shared connections are open then, where they speak frames."""
    good = all(await asyncio.gather(*(_pinged(one) for one in incarnation.containers)))
    if good:
        await _connect(incarnation)
        for container in incarnation.containers:
            container.well = True
    return good


async def _pinged(container: LiveContainer) -> bool:
    with suppress(UpstreamError, TimeoutError):
        async with patiently(ANSWERS_WITHIN_S):
            within_s = ANSWERS_WITHIN_S * WALL_MULTIPLE
            return (await container.upstream.send("GET", wire.PING, (), [], within_s)).status == OK
    return False


async def _connect(incarnation: Incarnation) -> None:
    await asyncio.gather(*(one.multiplexed.connect(ANSWERS_WITHIN_S) for one in incarnation.containers))
