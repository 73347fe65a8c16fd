"""Brings the artifacts of adapters to the disk, from wherever in S3 each is: perhaps from another bucket."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from torpor_container.artifacts.location import Prefix
from torpor_container.errors import NoRoom
from torpor_container.measuring.server_timing import LoadSpans
from torpor_container.models.disk_tier import DiskTier


class AdapterFolders:
    """`make_tier` makes the tier of a prefix, which keeps its folders below the folder of this name."""

    def __init__(self, make_tier: Callable[[Prefix, str], DiskTier], clock: Callable[[], float]) -> None:
        self._make_tier = make_tier
        self._clock = clock
        self._tiers: dict[str, DiskTier] = {}
        self._turns: dict[str, asyncio.Lock] = {}  # by address: two adapters may have the same artifact

    async def fetch(self, url: str) -> Path:
        """The folder of the artifact at this address, unpacked, which stays until `give`. Raises the artifact errors
        and NoRoom."""
        parent, _, name = url.rpartition("/")
        async with self._turns.setdefault(parent, asyncio.Lock()):
            if parent not in self._tiers:
                tier = self._make_tier(Prefix.parse(f"{parent}/"), f"adapters/{len(self._tiers)}")
                await tier.restore()
                self._tiers[parent] = tier
        async with self._turns.setdefault(url, asyncio.Lock()):
            return (await self._tiers[parent].take(name, LoadSpans(self._clock), _no_room)).directory

    def give(self, url: str) -> None:
        """The container has the adapter that was fetched from there no more."""
        parent, _, name = url.rpartition("/")
        self._tiers[parent].give(name)


async def _no_room(missing_bytes: int) -> bool:
    """Nothing leaves while the container has it, so to wait would be in vain."""
    raise NoRoom(f"the adapters in use leave no room for one more: {missing_bytes} bytes are missing on the disk")
