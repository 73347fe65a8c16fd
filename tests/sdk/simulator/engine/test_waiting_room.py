"""Waiting requests are retried in order, and a request that cannot be admitted yet is not retried."""

from hypothesis import given
from hypothesis import strategies as st

from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.engine.waiting_room import WaitingRoom
from torpor_container.core.eviction import LRU
from torpor_container.core.residency import Admit, Residency


def loading(name: str, books: Residency) -> None:
    books.request(name, 0.0)
    assert isinstance(books.admit(name, 1, 0.0), Admit)


def test_a_request_that_waits_for_admission_is_retried_when_a_load_can_begin_and_others_at_once() -> None:
    kernel, books, asked = Kernel(), Residency(100, LRU(), loads_max=1), list[str]()
    waiting_room = WaitingRoom(kernel, books)
    for name in ("admit-1", "admit-2"):
        waiting_room.wait_for_admission(asked.append, name)
    waiting_room.wait(asked.append, "other")
    loading("a", books)
    waiting_room.notify()
    kernel.run()
    assert asked == ["other"]
    books.loaded("a", 1, 0.1, 0.0)
    for _ in range(2):
        waiting_room.notify()
        kernel.run()
    assert asked == ["other", "admit-1", "admit-2"]


@given(st.lists(st.sampled_from(["admission", "other"]), max_size=40), st.lists(st.booleans(), max_size=8))
def test_no_request_overtakes_another_of_its_kind(kinds: list[str], full: list[bool]) -> None:
    """Each request is retried twice in vain, and in some rounds no load can begin."""
    kernel, books = Kernel(), Residency(100, LRU(), loads_max=1)
    waiting_room, served, tries = WaitingRoom(kernel, books), list[int](), dict.fromkeys(range(len(kinds)), 2)

    def wait(number: int) -> None:
        (waiting_room.wait_for_admission if kinds[number] == "admission" else waiting_room.wait)(ask, number)

    def ask(number: int) -> None:
        tries[number] -= 1
        if tries[number] < 0:
            served.append(number)
        else:
            wait(number)

    for number in tries:
        wait(number)
    for round_, no_load_can_begin in enumerate([*full, False, False, False]):
        if no_load_can_begin:
            loading(f"load-{round_}", books)
        waiting_room.notify()
        kernel.run()
        if no_load_can_begin:
            books.loaded(f"load-{round_}", 1, 0.1, 0.0)
    for kind in ("admission", "other"):
        of_a_kind = [number for number in tries if kinds[number] == kind]
        assert [number for number in served if kinds[number] == kind] == of_a_kind


def test_no_request_is_retried_while_memory_is_too_small_for_the_smallest() -> None:
    kernel, books, asked = Kernel(), Residency(10, LRU(), loads_max=4), list[str]()
    books.request("busy", 0.0)
    books.admit("busy", 8, 0.0)
    books.loaded("busy", 8, 0.1, 0.0)
    waiting_room = WaitingRoom(kernel, books)
    for name, size_bytes in (("large", 9), ("middle", 5), ("small", 2)):
        waiting_room.wait_for_admission(asked.append, name, size_bytes)
    waiting_room.notify()
    kernel.run()
    assert asked == ["small"], "there is room for that one; the others wait until somebody lets go"
    waiting_room.notify()
    kernel.run()
    assert (asked, len(waiting_room.waiting)) == (["small"], 2)
    books.released("busy")
    waiting_room.notify()
    kernel.run()
    assert asked == ["small", "large", "middle"]
