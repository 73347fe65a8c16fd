"""The prefixes of the variants whose models have versions: what lies below each, from listings and from S3's events."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakSet

from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.core.versions.version_layout import VERSIONED, VersionLayout
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.variant_settings import VariantSettings

JOINS_S = 30.0
"""A prefix that was listed for a new pool is kept for so long without one."""

FOLLOWS_S = 1.0
"""A name's first version has its prefix listed so soon: the key of an object that came before it may be meant by the
name, and a layout keeps no keys of names without versions. Many names that come together are one listing."""

ListKeys = Callable[[str, str, str, str], list[str]]
"""Takes the ARNs of a role and of the endpoint that assumes it, a bucket, and the beginning of keys; returns all such
keys. It blocks. Raises StorageError."""


@dataclass(eq=False)
class ListedPrefix:
    """One prefix. `listed` says whether `layout` is known: a prefix that could not be listed yet has no names."""

    bucket: str
    folder: str
    role: str
    endpoint_arn: str
    layout: VersionLayout = field(default_factory=VersionLayout)
    listed: bool = False
    due_s: float = 0.0
    pools: WeakSet[InstancePool] = field(default_factory=WeakSet)
    listings: list[list[tuple[str, bool]]] = field(default_factory=list)
    """For each listing that is under way, what has come since it began: keys, and whether there is an object."""


class VersionPrefixes:
    """For the event loop's thread. `changed` gets a prefix and each name below it whose versions have changed, or an
    object of them."""

    def __init__(
        self, keys: ListKeys, clock: Callable[[], float], changed: Callable[[ListedPrefix, str], None]
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._changed = changed
        self._by_place: dict[tuple[str, str, str], ListedPrefix] = {}

    async def prepare(self, variant: Variant, endpoint_arn: str) -> None:
        """List the variant's prefix before its pool is made. Raises StorageError."""
        container = container_of(variant)
        if container is not None:
            found = self._of(container, endpoint_arn)
            if not found.listed:
                await self.renew(found)

    def join(self, pool: InstancePool, endpoint_arn: str) -> ListedPrefix | None:
        """The prefix of a new pool; None if it has none."""
        container = container_of(pool.variant)
        if container is None:
            return None
        found = self._of(container, endpoint_arn)
        found.pools.add(pool)
        return found

    def of(self, pool: InstancePool) -> ListedPrefix | None:
        """The prefix that the pool has joined."""
        container = container_of(pool.variant)
        return None if container is None else self._by_place.get(_place_of(container))

    async def renew(self, prefix: ListedPrefix) -> None:
        """List the prefix anew. What comes while it is listed is newer than the listing, and holds. Raises
        StorageError."""
        since: list[tuple[str, bool]] = []
        prefix.listings.append(since)
        try:
            layout = await asyncio.to_thread(self._listed, prefix)
        finally:
            prefix.listings.remove(since)
        latest = dict(since)
        for key in sorted(latest, key=lambda key: VERSIONED.fullmatch(key) is None):  # a plain key needs its name there
            (layout.add if latest[key] else layout.remove)(key)
        before, prefix.layout = prefix.layout, layout
        prefix.listed = True
        prefix.due_s = self._clock() + min((one.settings.versions_poll_s for one in prefix.pools), default=JOINS_S)
        for name in {*before, *prefix.layout}:
            if _differs(before, prefix.layout, name):
                self._changed(prefix, name)

    def told(self, bucket: str, key: str, there: bool) -> bool:
        """The embedded S3 has written or deleted an object. Whether a prefix is to be listed sooner for it."""
        hastened = False
        for prefix in self._by_place.values():
            if prefix.bucket == bucket and key.startswith(prefix.folder):
                below = key[len(prefix.folder) :]
                for since in prefix.listings:
                    since.append((below, there))
                known = len(prefix.layout)
                name = (prefix.layout.add if there else prefix.layout.remove)(below)
                if name is not None:
                    if len(prefix.layout) > known:
                        hastened |= self._hastened(prefix)
                    self._changed(prefix, name)
        return hastened

    def _hastened(self, prefix: ListedPrefix) -> bool:
        soon_s = self._clock() + FOLLOWS_S
        hastened = soon_s < prefix.due_s
        prefix.due_s = min(prefix.due_s, soon_s)
        return hastened

    def due(self) -> list[ListedPrefix]:
        """The prefixes that are to be listed now. Those that no pool has any more are forgotten."""
        now_s = self._clock()
        for place in [place for place, one in self._by_place.items() if not one.pools and one.due_s <= now_s]:
            del self._by_place[place]
        return [prefix for prefix in self._by_place.values() if prefix.pools and prefix.due_s <= now_s]

    def next_due_s(self) -> float | None:
        """Seconds until a prefix is due; None if there is none."""
        times = [prefix.due_s for prefix in self._by_place.values() if prefix.pools]
        return max(0.0, min(times) - self._clock()) if times else None

    def _listed(self, prefix: ListedPrefix) -> VersionLayout:
        keys = self._keys(prefix.role, prefix.endpoint_arn, prefix.bucket, prefix.folder)
        return VersionLayout(key[len(prefix.folder) :] for key in keys)

    def _of(self, container: Container, endpoint_arn: str) -> ListedPrefix:
        place = _place_of(container)
        return self._by_place.setdefault(place, ListedPrefix(*place, endpoint_arn))


def _place_of(container: Container) -> tuple[str, str, str]:
    bucket, _, key = (container.model_data_url or "").removeprefix("s3://").partition("/")
    return bucket, f"{key.removesuffix('/')}/" if key else "", container.role


def container_of(variant: Variant) -> Container | None:
    """The container of many models that has versions; None for a variant without. CreateModel lets one have them."""
    if VariantSettings.read(variant.containers).versions is None:
        return None
    return next((one for one in variant.containers if one.multi_model and one.model_data_url is not None), None)


def _differs(before: VersionLayout, after: VersionLayout, name: str) -> bool:
    now, then = after.versions_of(name), before.versions_of(name)
    return now != then or before.fault_of(name) != after.fault_of(name)
