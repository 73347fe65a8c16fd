"""The seam to wherever artifacts come from: two questions about one bucket, and nothing that acts."""

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


class ArtifactStore(Protocol):
    """One bucket. Every method raises the errors of `artifacts.errors` only."""

    async def head(self, key: str) -> ArtifactHead:
        """Size and version now. Raises ArtifactMissing, ArtifactForbidden, StoreUnreachable."""

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        """Write exactly the object that `head` saw to the file `into`, which is not there before it is complete.

        Raises as `head` does, DownloadBroken if other bytes arrive, and DiskFull.
        """
