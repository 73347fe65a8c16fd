"""Amounts of memory, processor cores and accelerators, and how much of an instance copies may have of each."""

from collections.abc import Iterable
from typing import Final

from torpor_container.frozen_class import frozen

MEMORY_SHARE: Final = 0.9
"""The share of an instance's memory that copies may have; the rest is for what runs beside them."""

STRICT_MEMORY_SHARE: Final = 0.24
"""The same as AWS has it, as far as it is known: a public guide of July 2026 saw copies of 1,024 MB fit ml.g5.xlarge,
which has 16 GiB, and copies of 4,096 MB (a quarter) refused. AWS publishes no figure; this is the largest round one
that agrees."""

SLACK: Final = 1e-9
"""What sums of fractions of cores may be off by."""


@frozen
class ComputeAmount:
    """What a copy needs, or what an instance has."""

    memory_mib: float = 0.0
    cores: float = 0.0
    accelerators: float = 0.0

    def fits(self, room: "ComputeAmount") -> bool:
        """Whether there is at least so much of each."""
        return (
            self.memory_mib <= room.memory_mib + SLACK
            and self.cores <= room.cores + SLACK
            and self.accelerators <= room.accelerators + SLACK
        )

    def less(self, taken: "ComputeAmount") -> "ComputeAmount":
        return ComputeAmount(
            self.memory_mib - taken.memory_mib, self.cores - taken.cores, self.accelerators - taken.accelerators
        )

    def share_of(self, whole: "ComputeAmount") -> float:
        """The largest of its shares of the whole: what it takes of the resource that it takes most of."""
        pairs = (
            (self.memory_mib, whole.memory_mib),
            (self.cores, whole.cores),
            (self.accelerators, whole.accelerators),
        )
        return max(part / all_of_it if all_of_it else float(part > 0) for part, all_of_it in pairs)


def total(amounts: Iterable[ComputeAmount]) -> ComputeAmount:
    found = tuple(amounts)
    return ComputeAmount(
        sum(one.memory_mib for one in found), sum(one.cores for one in found), sum(one.accelerators for one in found)
    )


def schedulable(memory_mib: float, cores: float, accelerators: float, *, strict: bool = False) -> ComputeAmount:
    """What copies may have of an instance of this size."""
    share = STRICT_MEMORY_SHARE if strict else MEMORY_SHARE
    return ComputeAmount(memory_mib * share, cores, accelerators)
