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


def test_the_first_load_on_a_machine_waits_those_beside_it_for_the_rest_and_later_ones_not() -> None:
    profile, other = ModelProfile("a", 100, 100, once_s=2.0), ModelProfile("b", 100, 100)
    files = SharedFiles({"a": profile, "b": other})
    assert [files.once_s(profile, now_s) for now_s in (10.0, 10.5, 12.0, 50.0)] == [2.0, 1.5, 0.0, 0.0]
    assert files.once_s(other, 11.0) == 0.0
    assert files.any_shared
    assert not SharedFiles({"b": other}).any_shared


def test_the_libraries_are_waited_for_by_the_loads_that_come_before_they_are_there() -> None:
    """What a model needs for itself comes after them."""
    tried, plain = ModelProfile("a", 100, 100, once_s=2.0), ModelProfile("b", 100, 100)
    files = SharedFiles({"a": tried, "b": plain}, imports_s=3.0)
    assert [files.once_s(plain, now_s) for now_s in (10.0, 11.0)] == [3.0, 2.0]
    assert [files.once_s(tried, now_s) for now_s in (12.0, 14.0, 15.0)] == [3.0, 1.0, 0.0]
    assert files.once_s(plain, 13.0) == 0.0
    assert files.any_shared


@pytest.mark.parametrize(("mapped_bytes", "looks"), [(0, 0), (60, 1)])
def test_a_load_looks_through_the_memory_only_where_a_model_maps_a_file(mapped_bytes: int, looks: int) -> None:
    """An instance may have ten thousand models, and every load without room asks."""
    profile = ModelProfile("a", 100, 100, mapped_bytes=mapped_bytes)
    files, memory = SharedFiles({"a": profile}), CountedMemory(1000, LRU(), 1)
    memory.found("a", files.loaded(profile), 0.0)

    files.look(memory, 1.0)

    assert memory.looks == looks
