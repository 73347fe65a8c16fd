"""What a loaded model takes of memory: bytes of its instance alone, and a file that instances of the machine map."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Footprint:
    """One loaded model. `file` is whatever tells the file that it maps from all others; it counts if there are
    `mapped_bytes`."""

    private_bytes: int
    mapped_bytes: int = 0
    file: object = None

    def charged_bytes(self, holders: int) -> int:
        """What the model costs an instance while so many instances map its file, this one included: an equal share,
        rounded up, so that the shares of all never come to less than the file."""
        return self.private_bytes - (-self.mapped_bytes // max(1, holders))


def machine_bytes(footprints: Iterable[Footprint]) -> int:
    """What models of several instances take of one machine: each file once."""
    private_bytes, files = 0, dict[object, int]()
    for one in footprints:
        private_bytes += one.private_bytes
        if one.mapped_bytes:
            files[one.file] = one.mapped_bytes
    return private_bytes + sum(files.values())
