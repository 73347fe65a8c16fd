"""Keeps true which groups each pool serves, from listings of the prefixes and from S3's events.

A change leads to a new look at the whole prefix: files of groups are few, and change seldom.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from torpor_account.log_lines import about
from torpor_account.s3.access.embedded import StorageError
from torpor_account.wakeup import Wakeup
from torpor_endpoint.core.model_choice.group_file import group_name
from torpor_endpoint.core.model_choice.served_groups import ServedGroups, served_groups
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.model_groups.group_prefixes import (
    GroupedPrefix,
    StorageOf,
    grouped_container,
    grouped_prefix,
    look_below,
)
from torpor_endpoint.in_service.pool import VariantPool

LOOK_S = 10.0
"""How soon a prefix that could not be listed is listed again."""
JOINS_S = 30.0
"""A prefix that was listed for a new pool is kept for so long without one."""

log = logging.getLogger(__name__)


@dataclass(eq=False)
class GroupKeeper:
    """Any thread may call `told`; everything else runs on the event loop. `clock` gives seconds that only go forward.
    `switched` is called with the name of the endpoint after each change of the groups of a pool that is in service."""

    roster: FleetRoster
    storage_of: StorageOf
    arn_of: Callable[[str], str]
    clock: Callable[[], float]
    pause: Callable[[float], Awaitable[None]]
    switched: Callable[[str], None]

    def __post_init__(self) -> None:
        self._by_place: dict[tuple[str, str, str], GroupedPrefix] = {}
        self._wakeup = Wakeup()
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what there is ---------------------------------------------------------------------------------------------
    def told(self, bucket: str, key: str, there: bool) -> None:
        """See `s3.storage.objects.ObjectChanged`."""
        if (loop := self._loop) is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._told, bucket, key)

    async def prepare(self, variant: Variant, endpoint_arn: str) -> None:
        """Look at the prefix of a variant that will be served. A prefix that cannot be listed is tried again later."""
        prefix = self._prefix_of(variant, endpoint_arn)
        if prefix is not None and not prefix.listed:
            await self._look(prefix)

    def joined(self, pool: VariantPool) -> None:
        """A new pool with groups."""
        assert isinstance(pool, InstancePool), "the fleet's pools are of instances"
        prefix = self._prefix_of(pool.variant, self.arn_of(pool.endpoint))
        if prefix is not None:
            prefix.pools.add(pool)
            self._give(prefix)
        self._wakeup.notify()

    def start(self) -> None:
        """Take events from now on."""
        self._loop = asyncio.get_running_loop()

    async def catch_up(self) -> None:
        """Look at every prefix that is due."""
        now_s = self.clock()
        for place, one in list(self._by_place.items()):
            if one.due_s <= now_s and not one.pools:
                del self._by_place[place]
            elif one.due_s <= now_s:
                await self._look(one)

    async def run(self) -> None:
        """Look at prefixes when they are due, for ever."""
        self._wakeup.listen()
        while True:
            await self.catch_up()
            due_s = min((one.due_s for one in self._by_place.values()), default=self.clock() + LOOK_S)
            await self._wakeup.wait(self.pause(max(0.0, due_s - self.clock())))

    async def close(self) -> None:
        """Take no more events."""
        self._loop = None

    # -- one prefix ------------------------------------------------------------------------------------------------
    def _prefix_of(self, variant: Variant, endpoint_arn: str) -> GroupedPrefix | None:
        container = grouped_container(variant)
        if container is None:
            return None
        found = grouped_prefix(container, endpoint_arn)
        return self._by_place.setdefault(found.place, found)

    def _told(self, bucket: str, key: str) -> None:
        for prefix in self._by_place.values():
            below = prefix.bucket == bucket and key.startswith(prefix.folder)
            if below and prefix.below.concerns(key[len(prefix.folder) :]):
                prefix.told += 1
                if (name := group_name(key[len(prefix.folder) :])) is not None:
                    for groups in _of(prefix):
                        groups.changing.add(name)
                prefix.due_s = self.clock()
                self._wakeup.notify()

    async def _look(self, prefix: GroupedPrefix) -> None:
        """Look at a prefix. What changes meanwhile is looked at next."""
        told, changing = prefix.told, {name for groups in _of(prefix) for name in groups.changing}
        storage = self.storage_of(prefix.role, prefix.endpoint_arn)
        try:
            below = await asyncio.to_thread(look_below, storage, prefix.bucket, prefix.folder)
        except StorageError as error:
            prefix.due_s = self.clock() + LOOK_S
            endpoints = ", ".join(sorted({pool.endpoint for pool in prefix.pools}))
            text = "the groups below s3://%s/%s of endpoint %s cannot be listed: %s"
            log.warning(text, prefix.bucket, prefix.folder, endpoints, error, extra=about(endpoint=endpoints))
        else:
            if told == prefix.told:
                poll_s = min((one.settings.versions_poll_s for one in prefix.pools), default=JOINS_S)
                prefix.due_s = self.clock() + poll_s
            prefix.below, prefix.listed = below, True
            self._give(prefix)
        if told == prefix.told:
            for groups in _of(prefix):
                groups.changing -= changing
        for pool in prefix.pools:
            pool.changed()

    def _give(self, prefix: GroupedPrefix) -> None:
        for pool in list(prefix.pools):
            if pool.groups is None or pool.closed:
                continue
            versioned = () if pool.versions is None else pool.versions.names
            found, before = served_groups(prefix.below.groups, prefix.below.keys, versioned), pool.groups.names
            for name, one in found.items():
                if one.fault and (name not in before or before[name].fault != one.fault):
                    fields = about(endpoint=pool.endpoint, variant=pool.variant.name)
                    log.warning(
                        "group %s of endpoint %s answers no call: %s", name, pool.endpoint, one.fault, extra=fields
                    )
            live = self.roster.get(pool.endpoint)
            if pool.groups.put(found) and live is not None and pool in live.every_pool:
                live.serve(dict(live.pools), live.shift)  # ways that are remembered are found out anew
                self.switched(pool.endpoint)


def _of(prefix: GroupedPrefix) -> list[ServedGroups]:
    return [pool.groups for pool in prefix.pools if pool.groups is not None]
