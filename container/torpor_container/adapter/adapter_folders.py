"""Brings the artifacts of adapters to the disk, from wherever in S3 each is: perhaps from another bucket."""

from collections.abc import Callable
from pathlib import Path

from torpor_container.artifacts.location import Prefix
from torpor_container.measuring.server_timing import LoadSpans
from torpor_container.models.disk_tier import DiskTier


class AdapterFolders:
    """`make_tier` makes the tier of a prefix, which keeps its folders below the folder of this name."""

    def __init__(self, make_tier: Callable[[Prefix, str], DiskTier], clock: Callable[[], float]) -> None:
        self._make_tier = make_tier
        self._clock = clock
        self._tiers: dict[str, DiskTier] = {}

    async def fetch(self, url: str) -> Path:
        """The folder of the artifact at this address, unpacked. Raises the artifact errors."""
        parent, _, name = url.rpartition("/")
        if parent not in self._tiers:
            self._tiers[parent] = self._make_tier(Prefix.parse(f"{parent}/"), f"adapters/{len(self._tiers)}")
        return (await self._tiers[parent].take(name, LoadSpans(self._clock))).directory
