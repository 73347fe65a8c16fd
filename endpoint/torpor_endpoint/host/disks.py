"""The instances' disks, `<endpoint>/<variant>/<number>`: they outlive an instance, and go with their variant.

What cannot be removed now is left for the next start.
"""

import asyncio
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from torpor_endpoint.host import Slot
from torpor_endpoint.storage.records import EndpointRecord


class Disks:
    """`folder` has them all, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, slot: Slot) -> Path:
        return self._variant(slot.endpoint, slot.variant) / str(slot.number)

    async def remove(self, endpoint: str, variant: str) -> None:
        """A variant's. They are out of the way at once: if it is launched again meanwhile, it begins with new ones."""
        there = self._variant(endpoint, variant)
        aside = there.with_name(f".{token_hex(8)}")  # no variant is named so
        with suppress(OSError):  # it has never had an instance, for one
            there.rename(aside)
            await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)

    async def remove_all(self, endpoint: str) -> None:
        await asyncio.to_thread(shutil.rmtree, self._endpoint(endpoint), ignore_errors=True)

    def sweep(self, endpoints: Iterable[EndpointRecord]) -> None:
        """Remove what is no disk of these: an endpoint that was killed had not come to it."""
        kept = {
            self._variant(one.name, v.name) for one in endpoints for v in (*one.variants, *(one.pending_variants or ()))
        }
        for folder in self._folder.glob("*/*"):
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def _endpoint(self, name: str) -> Path:
        return self._folder / name.lower()

    def _variant(self, endpoint: str, variant: str) -> Path:
        return self._endpoint(endpoint) / variant
