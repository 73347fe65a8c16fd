"""Keeps the disks of instances in folders, which last as long as their variant.

A folder is `<endpoint>/<variant>/<number>`, or `<number>.<container>` for a further container of the instance.

A folder that cannot be removed now is removed at the next start.
"""

import asyncio
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from torpor_endpoint.core.records import EndpointRecord
from torpor_endpoint.host import Slot


class Disks:
    """The disks of all instances. `folder` holds them and nothing else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, slot: Slot) -> Path:
        """The folder of the slot's disk. That of another container is beside it: a disk lies in no other."""
        name = f"{slot.number}.{slot.container}" if slot.container else str(slot.number)
        return self._variant(slot.endpoint, slot.variant) / name

    async def remove(self, endpoint: str, variant: str) -> None:
        """Remove a variant's disks. They are renamed first: a variant of the same name gets new ones at once."""
        folder = self._variant(endpoint, variant)
        aside = folder.with_name(f".{token_hex(8)}")  # no variant has such a name
        with suppress(OSError):  # such as of a variant that never had an instance
            folder.rename(aside)
            await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)

    async def remove_all(self, endpoint: str) -> None:
        """Remove the disks of an endpoint."""
        await asyncio.to_thread(shutil.rmtree, self._endpoint(endpoint), ignore_errors=True)

    def sweep(self, endpoints: Iterable[EndpointRecord]) -> None:
        """Remove all disks but those of these endpoints: a killed Torpor leaves some behind."""
        existing = {
            self._variant(one.name, v.name) for one in endpoints for v in (*one.variants, *(one.pending_variants or ()))
        }
        for folder in self._folder.glob("*/*"):
            if folder not in existing:
                shutil.rmtree(folder, ignore_errors=True)

    def _endpoint(self, name: str) -> Path:
        return self._folder / name.lower()

    def _variant(self, endpoint: str, variant: str) -> Path:
        return self._endpoint(endpoint) / variant
