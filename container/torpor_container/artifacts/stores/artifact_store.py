"""The interface of a store of artifacts, which reads one bucket, and a store that is made at its first use."""

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from torpor_container.frozen_class import frozen


@frozen
class ArtifactHead:
    """What is known of an object before it is read. `version` changes whenever its bytes do.

    `file` is the object's file, if it can be read in place.
    """

    size_bytes: int
    version: str
    file: Path | None = field(default=None, compare=False)


@frozen
class Listed:
    """One object of a list."""

    key: str
    size_bytes: int
    version: str


class ArtifactStore(Protocol):
    """Reads one bucket. Its methods raise only the errors of `artifacts.errors`."""

    async def head(self, key: str) -> ArtifactHead:
        """Size and version now. Raises ArtifactMissing, ArtifactForbidden, StoreUnreachable."""

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        """Write exactly the object that `head` saw to the file `into`, which appears only once it is complete.

        Raises as `head` does, DownloadBroken if other bytes arrive, and DiskFull.
        """

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        """The first objects whose keys begin with `prefix`, by key; one more than `at_most` if there are more.

        Raises as `head` does.
        """

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        """Some of the keys that begin with `folder` (empty, or with a slash at its end), with few requests."""


class LazyArtifactStore:
    """The store that `make` returns at the first use: an S3 client takes milliseconds to make, and few need it."""

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
