"""The seam to wherever artifacts come from: questions about one bucket, and nothing that acts."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class ArtifactHead:
    """What is known of an object before it is read. `version` changes whenever its bytes do.

    `file` is the object's own file where it was found to be one that can be read in place.
    """

    size_bytes: int
    version: str
    file: Path | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Listed:
    """One object of a list."""

    key: str
    size_bytes: int
    version: str


class ArtifactStore(Protocol):
    """One bucket. Every method raises the errors of `artifacts.errors` only."""

    async def head(self, key: str) -> ArtifactHead:
        """Size and version now. Raises ArtifactMissing, ArtifactForbidden, StoreUnreachable."""

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        """Write exactly the object that `head` saw to the file `into`, which is not there before it is complete.

        Raises as `head` does, DownloadBroken if other bytes arrive, and DiskFull.
        """

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        """The first objects whose keys begin with `prefix`, by key; one more than `at_most` where there are more.

        Raises as `head` does.
        """

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        """Some of the keys that begin with `folder` (empty, or with a slash at its end), found with little work."""
