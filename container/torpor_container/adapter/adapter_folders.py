"""Brings the artifacts of adapters to the disk, from wherever in S3 each is. All of them share one bound."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from weakref import WeakValueDictionary

from torpor_container.adapter.model_adapters import AdapterFolder
from torpor_container.measuring.server_timing import LoadSpans
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.tier import MakeRoom


class AdapterFolders:
    """`make_tier` makes the tier at the first adapter: the model has its room on the disk by then."""

    def __init__(self, make_tier: Callable[[], DiskTier]) -> None:
        self._make_tier = make_tier
        self._tier: DiskTier | None = None
        self._made = asyncio.Lock()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By address: two adapters may have the same artifact."""

    async def fetch(self, url: str, spans: LoadSpans, make_room: MakeRoom) -> AdapterFolder:
        """The folder of the artifact at this address, unpacked, which stays until `give`. `make_room` gives folders
        back. Raises the artifact errors and NoRoom."""
        tier = await self._restored()
        async with self._turns.setdefault(url, asyncio.Lock()):
            placed = await tier.take(url, spans, make_room)
        with ExitStack() as unless_within_bound:
            unless_within_bound.callback(self.give, url)
            while tier.excess_bytes > 0 and await make_room(tier.excess_bytes):
                tier.shrink()
            unless_within_bound.pop_all()
        budget_bytes = tier.used_bytes - tier.excess_bytes
        return AdapterFolder(placed.directory, tier.size_of(url), budget_bytes)

    def give(self, url: str) -> None:
        """The container has the adapter that was fetched from there no more."""
        if self._tier is not None:
            self._tier.give(url)

    @property
    def used_bytes(self) -> int:
        return 0 if self._tier is None else self._tier.used_bytes

    async def close(self) -> None:
        if self._tier is not None:
            await self._tier.close()

    async def _restored(self) -> DiskTier:
        async with self._made:
            if self._tier is None:
                tier = self._make_tier()
                await tier.restore()
                self._tier = tier
        return self._tier
