"""What models take of a device, told from what a process holds before and after."""

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.devices.process_memory import ProcessMemory


def test_a_new_process_has_its_whole_budget_for_models() -> None:
    memory = ProcessMemory(1000)
    assert (memory.budget_bytes, memory.kept_bytes, memory.for_models_bytes) == (1000, 0, 1000)
    assert [memory.used_by_models(own_bytes) for own_bytes in (0, 70)] == [0, 70]


def test_what_a_library_keeps_is_no_models() -> None:
    memory = ProcessMemory(1000)
    assert memory.library_began(before_bytes=10, with_one_bytes=150, after_bytes=110) == 40
    assert (memory.kept_bytes, memory.for_models_bytes) == (100, 900)
    assert [memory.used_by_models(own_bytes) for own_bytes in (90, 100, 160)] == [0, 0, 60]
    memory.stayed(110, 117)
    memory.stayed(117, 90)  # what goes meanwhile was no library's
    assert memory.kept_bytes == 107
    assert memory.library_began(before_bytes=90, with_one_bytes=80, after_bytes=90) == 0
    assert memory.kept_bytes == 107


def test_what_is_kept_leaves_models_no_less_than_nothing() -> None:
    memory = ProcessMemory(100)
    memory.stayed(0, 300)
    assert memory.for_models_bytes == 0


def test_a_models_size_is_what_came_with_it_and_what_it_does_not_give_back_is_kept() -> None:
    memory = ProcessMemory(1000)
    assert memory.entered("a", 100, 160) == 60
    assert memory.entered("b", 160, 150) == 0
    assert memory.left("a", 150, 110) == 40
    assert memory.kept_bytes == 20


def test_a_model_that_gives_nothing_back_took_nothing() -> None:
    memory = ProcessMemory(1000)
    memory.entered("a", 0, 60)
    memory.entered("b", 60, 90)
    assert memory.left("a", 90, 90) == 0
    assert memory.kept_bytes == 60


def test_a_model_that_gives_back_its_arenas_growth_too_is_no_larger_than_it_was() -> None:
    memory = ProcessMemory(1000)
    memory.entered("a", 0, 60)
    memory.entered("b", 60, 90)
    assert memory.left("a", 400, 30) == 60
    assert memory.kept_bytes == 0


def test_with_the_last_model_gone_all_that_is_held_is_kept() -> None:
    memory = ProcessMemory(1000)
    memory.entered("a", 50, 110)
    assert memory.left("a", 110, 70) == 40
    assert memory.kept_bytes == 70


def test_a_model_whose_entry_was_not_measured_has_no_size_and_leaves_nothing_to_the_libraries() -> None:
    memory = ProcessMemory(1000)
    memory.entered("a", 0, 10)
    assert memory.left("b", 80, 30) is None
    assert memory.kept_bytes == 0


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=8))
def test_models_that_give_back_all_leave_what_was_there_before(models: list[tuple[int, int]]) -> None:
    memory, held = ProcessMemory(10_000), 500
    memory.stayed(0, held)
    for place, (size, _) in enumerate(models):
        assert memory.entered(str(place), held, held + size) == size
        held += size
    for place, (size, more) in enumerate(models):
        assert memory.left(str(place), held + more, held - size) == size
        held -= size
    assert memory.kept_bytes == 500 == held
