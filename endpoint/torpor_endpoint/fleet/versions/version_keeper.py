"""Keeps true what answers each name with versions: in every pool, from what lies below its prefix and from the labels.

`core.versions` decides. The keeper asks instances what they have, has them load new versions beside old ones, and moves
names and labels. It is level-triggered: an event, a listing, a label, and the end of a load lead to the same look.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from torpor_account.log_lines import about
from torpor_account.s3.access.embedded import StorageError
from torpor_account.wakeup import Wakeup
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.versions.version_answers import NO_VERSIONS, AnsweringVersions
from torpor_endpoint.core.versions.version_steps import VersionStep
from torpor_endpoint.core.versions.version_switching import (
    VersionPlan,
    VersionsInMemory,
    plan_versions,
    wanted_versions,
)
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.settling import Settling
from torpor_endpoint.fleet.versions.beside_loading import BesideLoading, Holders
from torpor_endpoint.fleet.versions.version_prefixes import ListedPrefix, ListKeys, VersionPrefixes
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool

LOOK_S = 10.0
"""How often a name is looked at whose new version cannot take over yet."""
SPLIT = "\n"

log = logging.getLogger(__name__)

Labels = Mapping[str, int]
LabelsOf = Callable[[str, str], Labels]
"""Takes an endpoint's name and a model's; returns the version of each label."""


@dataclass(eq=False)
class VersionKeeper:
    """Any thread may call `told`; everything else runs on the event loop. `clock` gives seconds that only go forward.
    `switched` is called with the name of an endpoint after each change of what answers in a pool of it in service;
    `stepped` with each version that was loaded beside another one, or left memory."""

    roster: FleetRoster
    keys: ListKeys
    labels_of: LabelsOf
    arn_of: Callable[[str], str]
    clock: Callable[[], float]
    pause: Callable[[float], Awaitable[None]]
    switched: Callable[[str], None]
    stepped: Callable[[VersionStep], None]
    waits: dict[tuple[InstancePool, str], Labels] = field(default_factory=dict)
    """The names whose new versions have not taken over yet: by pointer, the version that it waits for."""

    def __post_init__(self) -> None:
        self.prefixes = VersionPrefixes(self.keys, self.clock, self._changed)
        self.loading = BesideLoading(self.clock, self.stepped)
        self._settling = Settling(self._settle, "the versions of")
        self._wakeup = Wakeup()
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what there is ---------------------------------------------------------------------------------------------
    def told(self, bucket: str, key: str, there: bool) -> None:
        """See `s3.storage.objects.ObjectChanged`. The look is over before the writer gets the answer."""
        if (loop := self._loop) is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._told, bucket, key, there)

    def _told(self, bucket: str, key: str, there: bool) -> None:
        if self.prefixes.told(bucket, key, there):
            self._wakeup.notify()

    async def prepare(self, variant: Variant, endpoint_arn: str) -> None:
        """List the prefix of a variant that will be served. A prefix that cannot be listed is tried again later."""
        try:
            await self.prefixes.prepare(variant, endpoint_arn)
        except StorageError as error:
            log.warning("the versions of variant %s cannot be listed yet: %s", variant.name, error)

    def joined(self, pool: VariantPool) -> None:
        """See `InstanceFactory.versioned`."""
        assert isinstance(pool, InstancePool), "the fleet's pools are of instances"
        prefix = self.prefixes.join(pool, self.arn_of(pool.endpoint))
        if prefix is not None:
            for name in prefix.layout:
                self.refresh(pool, name)
        self._wakeup.notify()

    def start(self) -> None:
        """Take events from now on."""
        self._loop = asyncio.get_running_loop()
        self._settling.start()

    async def catch_up(self) -> None:
        """List every prefix that is due."""
        for prefix in self.prefixes.due():
            await self._list(prefix)

    async def run(self) -> None:
        """List prefixes when they are due, and look again at what could not take over, for ever."""
        self._wakeup.listen()
        while True:
            await self.catch_up()
            self.waits = {one: waits for one, waits in self.waits.items() if not one[0].closed}
            for pool, name in list(self.waits):
                self._look_at(pool, name)
            due_s = self.prefixes.next_due_s()
            await self._wakeup.wait(self.pause(LOOK_S if due_s is None else min(due_s, LOOK_S)))

    async def close(self) -> None:
        """Stop the looks that are under way."""
        self._loop = None
        await self._settling.close()

    # -- one name of one pool --------------------------------------------------------------------------------------
    def present(self, pool: InstancePool, name: str) -> Mapping[int, str]:
        """The versions of a name that lie below the pool's prefix."""
        prefix = self.prefixes.of(pool)
        return {} if prefix is None else prefix.layout.versions_of(name)

    def wanted(self, pool: InstancePool, name: str, labels: Labels) -> AnsweringVersions:
        """What should answer the name, with these labels."""
        prefix, policy = self.prefixes.of(pool), pool.settings.versions
        if prefix is None or policy is None:
            return NO_VERSIONS
        layout = prefix.layout
        return wanted_versions(layout.versions_of(name), policy, labels, layout.fault_of(name))

    def refresh(self, pool: InstancePool, name: str) -> None:
        """Take at once what needs no look into an instance, such as a name that is new or a version that is gone. As
        long as nobody has looked, what answers counts as being in memory, and nothing else does."""
        served = self._served(pool, name)
        assumed = VersionsInMemory(set(served.pointers.values()) if len(pool.ready) else ())
        wanted = self.wanted(pool, name, self.labels_of(pool.endpoint, name))
        self._serve(pool, name, plan_versions(served, wanted, self.present(pool, name), assumed))
        self._look_at(pool, name)

    async def bring(self, pool: InstancePool, name: str, labels: Labels, serve: bool = True) -> VersionPlan:
        """Load what these labels want beside what answers now, until there is nothing more to load. With `serve`, each
        version takes over as soon as it may; without, none does."""
        while True:
            present = self.present(pool, name)
            memory, holders = await self.loading.look(pool, name, present)
            served, wanted = self._served(pool, name), self.wanted(pool, name, labels)
            plan = plan_versions(served, wanted, self.present(pool, name), memory)
            if serve:
                self._serve(pool, name, plan)
                await self.loading.withdraw(pool, memory.gone)
            if not plan.load or pool.closed:
                return plan
            beside = {number: self._answering(served, plan.waits, number, holders) for number in plan.load}
            await asyncio.gather(
                *(self.loading.load(pool, present[one], len(held), key) for one, (key, held) in beside.items())
            )

    def _answering(
        self, served: AnsweringVersions, waits: Labels, number: int, holders: Holders
    ) -> tuple[str, Collection[Incarnation]]:
        """Of the versions that answer for a version which is to take over: the one that most instances have."""
        keys = [served.artifacts[served.pointers[label]] for label, want in waits.items() if want == number]
        found = max(keys, key=lambda key: len(holders.get(key, ())))
        return found, holders.get(found, ())

    def _served(self, pool: InstancePool, name: str) -> AnsweringVersions:
        assert pool.versions is not None, "only pools with versions are kept"
        return pool.versions.names.get(name, NO_VERSIONS)

    def _serve(self, pool: InstancePool, name: str, plan: VersionPlan) -> None:
        assert pool.versions is not None, "only pools with versions are kept"
        prefix = self.prefixes.of(pool)
        known = prefix is not None and name in prefix.layout
        if plan.waits:
            self.waits[pool, name] = plan.waits
        else:
            self.waits.pop((pool, name), None)
        if not pool.versions.put(name, plan.serve if known else None):
            return
        live = self.roster.get(pool.endpoint)
        if live is not None and pool in live.every_pool:
            live.serve(dict(live.pools), live.shift)  # ways that are remembered are found out anew
            self.switched(pool.endpoint)

    # -- looks -----------------------------------------------------------------------------------------------------
    def _changed(self, prefix: ListedPrefix, name: str) -> None:
        for pool in list(prefix.pools):
            if not pool.closed:
                for key in prefix.layout.versions_of(name).values():
                    self.loading.forgive(pool, key)
                self.refresh(pool, name)

    def _look_at(self, pool: InstancePool, name: str) -> None:
        live = self.roster.get(pool.endpoint)
        for key, one in () if live is None else live.by_key.items():
            if one is pool:
                self._settling.schedule(SPLIT.join((pool.endpoint, key, name)))

    async def _settle(self, place: str) -> None:
        endpoint, key, name = place.split(SPLIT, 2)
        live = self.roster.get(endpoint)
        pool = None if live is None else live.by_key.get(key)
        if pool is not None and pool.versions is not None:
            await self.bring(pool, name, self.labels_of(endpoint, name))

    async def _list(self, prefix: ListedPrefix) -> None:
        try:
            await self.prefixes.renew(prefix)
        except StorageError as error:
            prefix.due_s = self.clock() + LOOK_S
            endpoints = ", ".join(sorted({pool.endpoint for pool in prefix.pools}))
            text = "the versions below s3://%s/%s of endpoint %s cannot be listed: %s"
            log.warning(text, prefix.bucket, prefix.folder, endpoints, error, extra=about(endpoint=endpoints))
