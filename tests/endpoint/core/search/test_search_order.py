"""The order of found records: pages put together are the whole, whatever comes and goes between them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.search.record_property import PropertyType, RecordProperty
from torpor_endpoint.core.search.search_order import Position, SearchOrder

RECORDS = st.dictionaries(st.text("ab", max_size=3), st.none() | st.integers(0, 2), max_size=9)


def paged(order: SearchOrder, records: dict[str, Any], limit: int) -> list[Position]:
    positions = [order.position(name, {"p": value}) for name, value in records.items()]
    found: list[Position] = []
    more = True
    while more:
        page, more = order.page(positions, found[-1] if found else None, limit)
        assert page or not records, "no page is empty"
        found += page
    return found


@given(RECORDS, st.integers(1, 4), st.booleans())
def test_pages_are_the_whole_in_order_and_what_lacks_the_property_comes_last(
    records: dict[str, Any], limit: int, descending: bool
) -> None:
    order = SearchOrder(RecordProperty("p", ("p",), PropertyType.NUMBER), descending)
    found = paged(order, records, limit)
    having = sorted(((value, name) for name, value in records.items() if value is not None), reverse=descending)
    lacking = sorted((name for name, value in records.items() if value is None), reverse=descending)
    assert [name for _, _, name in found] == [*(name for _, name in having), *lacking]


def test_hyperparameters_sort_as_numbers_and_words_after_them() -> None:
    order = SearchOrder(RecordProperty("p", ("p",), PropertyType.WRITTEN_NUMBER), descending=False)
    values = {"a": "10", "b": "9", "c": "auto", "d": None, "e": "0.5", "f": "0", "g": "all"}
    assert [name for _, _, name in paged(order, values, 2)] == ["f", "e", "b", "a", "g", "c", "d"]


def test_a_number_that_is_none_comes_last() -> None:
    order = SearchOrder(RecordProperty("p", ("p",), PropertyType.NUMBER), descending=True)
    assert [name for _, _, name in paged(order, {"a": float("nan"), "b": 1.0}, 5)] == ["b", "a"]
