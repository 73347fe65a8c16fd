"""TinyLFU: which newcomers stay, and how the popularity of models is counted and forgotten."""

from gc import collect
from weakref import ref

from tests.container.core.eviction.test_orders import filled
from torpor_container.core.eviction import TinyLFU
from torpor_container.core.eviction.tinylfu import Popularity


def test_an_unpopular_model_is_not_kept_where_memory_is_full() -> None:
    chosen = filled(TinyLFU(), "ab")
    for name in "aabb":
        chosen.touched(name)
    chosen.added("v", 100, 1.0)
    assert chosen.keeps("a", 0)
    assert not chosen.keeps("v", 0)
    assert chosen.keeps("v", 100), "there is room for one more like it"
    assert chosen.keeps("v", 0), "it is a visitor no more"


def test_a_model_that_returns_often_is_kept() -> None:
    chosen = filled(TinyLFU(), "ab")
    chosen.touched("a")
    kept = []
    for _ in range(3):
        chosen.added("v", 100, 1.0)
        kept.append(chosen.keeps("v", 0))
        chosen.removed("v")
    assert kept == [False, True, True]  # b was used once and is the oldest


def test_a_newcomer_stays_where_there_is_just_room_for_another_like_it() -> None:
    for free_bytes, stays in ((99, False), (100, True)):
        chosen = filled(TinyLFU(), "ab")
        chosen.added("v", 100, 1.0)
        assert chosen.keeps("v", free_bytes) is stays


def test_uses_after_its_load_make_a_newcomer_popular() -> None:
    for uses, stays in ((0, False), (1, True)):
        chosen = filled(TinyLFU(), "ab")
        chosen.added("v", 100, 1.0)
        for _ in range(uses):
            chosen.touched("v")
        assert chosen.keeps("v", 0) is stays


def test_the_only_model_is_kept() -> None:
    assert filled(TinyLFU(), "a").keeps("a", 0)


def test_popularity_is_halved_after_ten_uses_for_each_resident_and_a_single_use_forgotten() -> None:
    popularity = Popularity()
    for name in "aaaaaaaaab":
        popularity.used(name, 2)
    assert [popularity.of(name) for name in "abc"] == [9, 1, 0]
    for name in "ccccccccdd":
        popularity.used(name, 2)
    assert [popularity.of(name) for name in "abcd"] == [4, 0, 4, 1]
    for _ in range(9):
        popularity.used("a", 2)
    assert popularity.of("a") == 13
    popularity.used("a", 2)
    assert [popularity.of(name) for name in "acd"] == [7, 2, 0], "the uses that were halved count as half"


class WatchedName(str):
    """A name that can be seen to be forgotten."""


def test_a_name_that_was_used_once_is_forgotten_when_popularity_is_halved() -> None:
    popularity, once = Popularity(), WatchedName("once")
    seen = ref(once)
    popularity.used(once, 1)
    del once
    for _ in range(9):
        popularity.used("often", 1)
    collect()
    assert seen() is None
    assert popularity.of("often") == 4
