"""Pages of keys, rolled up by a delimiter."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from torpor_account.s3.storage.key_pages import KeyPage, KeyQuery, after_all, page

TEXT = st.text(alphabet="ab/é\U0010ffff", max_size=4)
KEY = st.text(alphabet="ab/é\U0010ffff", min_size=1, max_size=4)
KEYS = st.lists(KEY, unique=True, max_size=12).map(sorted)


@dataclass(frozen=True)
class Item:
    key: str


def read_from(keys: list[str], start: str) -> Iterator[Item]:
    return (Item(key) for key in keys[bisect_left(keys, start) :])


def every_page(keys: list[str], query: KeyQuery) -> Iterator[KeyPage[Item]]:
    while True:
        found = page(query, lambda start: read_from(keys, start))
        yield found
        if not found.truncated:
            return
        query = KeyQuery(query.prefix, query.delimiter, found.last, query.limit)


@given(KEYS, TEXT, st.sampled_from(["", "/", "a", "b/"]), st.integers(min_value=1, max_value=4))
def test_the_pages_together_are_the_whole_list(keys: list[str], prefix: str, delimiter: str, limit: int) -> None:
    query = KeyQuery(prefix, delimiter, limit=limit)
    matching = [key for key in keys if key.startswith(prefix)]
    pages = list(every_page(keys, query))
    assert [item.key for one in pages for item in one.items] == [key for key in matching if query.group(key) is None]
    groups = sorted({group for key in matching if (group := query.group(key)) is not None})
    assert [prefix for one in pages for prefix in one.prefixes] == groups
    assert all(len(one.items) + len(one.prefixes) == limit for one in pages[:-1])


@given(KEY, TEXT)
def test_the_successor_of_a_prefix_lies_beyond_all_its_keys(prefix: str, more: str) -> None:
    following = after_all(prefix)
    assert following is None or prefix + more < following
    assert following is None or not following.startswith(prefix)


def test_a_page_of_no_keys_is_empty_and_not_truncated() -> None:
    assert page(KeyQuery(limit=0), lambda start: read_from(["a"], start)) == KeyPage()


def test_rolled_up_keys_are_jumped_over() -> None:
    keys = [f"a/{number:04}" for number in range(1000)] + ["b"]
    seen: list[str] = []

    def read(start: str) -> Iterator[Item]:
        for item in read_from(keys, start):
            seen.append(item.key)
            yield item

    assert page(KeyQuery(delimiter="/"), read).prefixes == ("a/",)
    assert seen == ["a/0000", "b"]
