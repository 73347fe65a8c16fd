"""What lies near a model that is not there: looked for when a caller's key is missing, and never before."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from cachetools import TTLCache

from torpor_container.artifacts.errors import ArtifactError
from torpor_container.artifacts.location import Prefix
from torpor_container.artifacts.stores.store import ArtifactStore
from torpor_container.core.near import nearest

LISTED_MAX = 1000
"""Keys that are looked through: those of the name's own folder, and the prefix's."""
FOUND_WITHIN_S = 2.0
"""If listing takes longer, the error names no neighbour."""
FOLDERS_MAX = 8
REMEMBERED_S = 5.0
"""A list of keys is used again for so long."""


class Neighbours:
    """The names below one prefix."""

    def __init__(self, prefix: Prefix, store: ArtifactStore, clock: Callable[[], float]) -> None:
        self._prefix = prefix
        self._store = store
        self._listed: TTLCache[str, list[str]] = TTLCache(FOLDERS_MAX, REMEMBERED_S, timer=clock)  # keys by folder
        self._listing = asyncio.Lock()

    async def near(self, name: str) -> tuple[str, ...]:
        """The targets that are most like `name`; none where the store does not tell."""
        folders = {self._prefix.folder, self._prefix.key_of(name).rpartition("/")[0] + "/"}
        keys: list[str] = []
        with suppress(ArtifactError, TimeoutError):
            async with asyncio.timeout(FOUND_WITHIN_S), self._listing:
                for folder in folders:
                    if folder.startswith(self._prefix.folder):
                        keys += await self._keys(folder)
        names = {target for key in keys if (target := self._target(key))}
        return await asyncio.to_thread(nearest, name, names - {name})

    async def _keys(self, folder: str) -> list[str]:
        keys: list[str] | None = self._listed.get(folder)
        if keys is None:
            keys = self._listed[folder] = await self._store.some_keys(folder, LISTED_MAX)
        return keys

    def _target(self, key: str) -> str | None:
        """How a caller names this key: of a leading slash one is dropped."""
        name = self._prefix.name_of_key(key)
        return f"/{name}" if name and name.startswith("/") else name
