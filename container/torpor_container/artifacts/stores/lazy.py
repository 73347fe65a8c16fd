"""A store that is made at its first use: an S3 client takes milliseconds to make, and few instances need it."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from torpor_container.artifacts.stores.store import ArtifactHead, ArtifactStore, Listed


class LazyArtifactStore:
    """The store that `make` returns; it is called once."""

    def __init__(self, make: Callable[[], ArtifactStore]) -> None:
        self._make = make

    async def head(self, key: str) -> ArtifactHead:
        return await self._store.head(key)

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        await self._store.get(key, head, into)

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        return await self._store.listed(prefix, at_most)

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        return await self._store.some_keys(folder, at_most)

    @cached_property
    def _store(self) -> ArtifactStore:
        return self._make()
