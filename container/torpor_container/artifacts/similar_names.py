"""Finds models with similar names, only once a caller's key is missing."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from cachetools import TTLCache

from torpor_container.artifacts.errors import ArtifactError
from torpor_container.artifacts.location import Prefix
from torpor_container.artifacts.stores.artifact_store import ArtifactStore
from torpor_container.core.near_names import nearest
from torpor_container.processes.threads import on_thread

LISTED_MAX = 1000
"""At most this many keys are compared, of the name's own folder and of the prefix."""
FOUND_WITHIN_S = 2.0
"""If the list takes longer, in seconds, the error names no similar model."""
FOLDERS_MAX = 8
REMEMBERED_S = 5.0
"""How long a list of keys is used again, in seconds."""


class SimilarNames:
    """Finds similar names below one prefix."""

    def __init__(self, prefix: Prefix, store: ArtifactStore, clock: Callable[[], float]) -> None:
        self._prefix = prefix
        self._store = store
        self._listed: TTLCache[str, list[str]] = TTLCache(FOLDERS_MAX, REMEMBERED_S, timer=clock)  # keys by folder
        self._listing = asyncio.Lock()

    async def near(self, name: str) -> tuple[str, ...]:
        """The targets that are most like `name`; none if the store does not list them."""
        folders = {self._prefix.folder, self._prefix.key_of(name).rpartition("/")[0] + "/"}
        keys: list[str] = []
        with suppress(ArtifactError, TimeoutError):
            async with asyncio.timeout(FOUND_WITHIN_S), self._listing:
                for folder in folders:
                    if folder.startswith(self._prefix.folder):
                        keys += await self._keys(folder)
        names = {target for key in keys if (target := self._target(key))}
        return await on_thread(nearest, name, names - {name})

    async def _keys(self, folder: str) -> list[str]:
        keys: list[str] | None = self._listed.get(folder)
        if keys is None:
            keys = self._listed[folder] = await self._store.some_keys(folder, LISTED_MAX)
        return keys

    def _target(self, key: str) -> str | None:
        """The target that names this key: a caller adds one slash before a leading slash, since one is dropped."""
        name = self._prefix.name_of_key(key)
        return f"/{name}" if name and name.startswith("/") else name
