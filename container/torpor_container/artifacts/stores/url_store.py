"""A store whose keys are whole URLs, `s3://bucket/key`, so that artifacts of several buckets share one disk tier."""

from collections.abc import Callable
from pathlib import Path

from torpor_container.artifacts.location import Prefix
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, ArtifactStore, Listed

ANYWHERE = Prefix("", "", "")
"""The prefix of all such keys."""


class UrlStore:
    """Reads from the store of each URL's folder, which `make` makes at the first use."""

    def __init__(self, make: Callable[[Prefix], ArtifactStore]) -> None:
        self._make = make
        self._stores: dict[str, tuple[Prefix, ArtifactStore]] = {}

    async def head(self, key: str) -> ArtifactHead:
        store, inner = self._in(key)
        return await store.head(inner)

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        store, inner = self._in(key)
        await store.get(inner, head, into)

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        """None: nobody knows all buckets."""
        return []

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        """None, for the same reason."""
        return []

    def _in(self, url: str) -> tuple[ArtifactStore, str]:
        """The store of the URL's folder, and the key in it."""
        folder, _, name = url.rpartition("/")
        if folder not in self._stores:
            prefix = Prefix.parse(f"{folder}/")
            self._stores[folder] = prefix, self._make(prefix)
        prefix, store = self._stores[folder]
        return store, prefix.key_of(name)
