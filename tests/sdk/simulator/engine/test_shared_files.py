"""An instance looks at the files that its models map, where they map any."""

from collections.abc import Iterator

import pytest

from torpor.simulator.engine.shared_files import SharedFiles
from torpor.workloads.profile import ModelProfile
from torpor_container.core.eviction import LRU
from torpor_container.core.occupancy import Resident
from torpor_container.core.residency import Residency


class CountedMemory(Residency):
    looks = 0

    def __iter__(self) -> Iterator[tuple[str, Resident]]:
        self.looks += 1
        return super().__iter__()


@pytest.mark.parametrize(("mapped_bytes", "looks"), [(0, 0), (60, 1)])
def test_a_load_looks_through_the_memory_only_where_a_model_maps_a_file(mapped_bytes: int, looks: int) -> None:
    """An instance may have ten thousand models, and every load without room asks."""
    profile = ModelProfile("a", 100, 100, mapped_bytes=mapped_bytes)
    files, memory = SharedFiles({"a": profile}), CountedMemory(1000, LRU(), 1)
    memory.found("a", files.loaded(profile), 0.0)

    files.look(memory, 1.0)

    assert memory.looks == looks
