"""Listing: pages that lose and repeat nothing, filters and orders."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.services.helpers.in_memory_control_plane import MULTI_MODEL, InMemoryControlPlane
from torpor_account.aws.errors import AwsError
from torpor_endpoint.core.lifecycle import EndpointEvent
from torpor_endpoint.services.sagemaker.listing import page


@dataclass(frozen=True)
class Row:
    name: str
    created_s: float
    modified_s: float = 0.0
    status: str = "InService"


ROW = st.builds(
    Row,
    st.text("abAB-0", min_size=1),
    st.integers(0, 3).map(float),
    st.integers(0, 3).map(float),
    status=st.sampled_from(["Failed", "InService"]),
)
rows = st.lists(ROW, unique_by=lambda row: row.name)
several = st.lists(ROW, unique_by=lambda row: row.name, min_size=3)
orders = st.fixed_dictionaries(
    {"MaxResults": st.integers(1, 100)},
    optional={
        "SortBy": st.sampled_from(["Name", "CreationTime", "Status"]),
        "SortOrder": st.sampled_from(["Ascending", "Descending"]),
    },
)
filters = st.fixed_dictionaries(
    {},
    optional={
        "NameContains": st.text("aA0", min_size=1, max_size=2),
        "CreationTimeBefore": st.integers(0, 4),
        "CreationTimeAfter": st.integers(0, 4),
        "LastModifiedTimeBefore": st.integers(0, 4),
        "LastModifiedTimeAfter": st.integers(0, 4),
        "StatusEquals": st.sampled_from(["Failed", "InService"]),
    },
)
KEYS: dict[str, Callable[[Row], Any]] = {
    "Name": lambda row: row.name.lower(),
    "CreationTime": lambda row: row.created_s,
    "Status": lambda row: row.status,
}


def fits(row: Row, wanted: dict[str, Any]) -> bool:
    return (
        wanted.get("NameContains", "") in row.name
        and wanted.get("CreationTimeAfter", -inf) <= row.created_s < wanted.get("CreationTimeBefore", inf)
        and wanted.get("LastModifiedTimeAfter", -inf) < row.modified_s < wanted.get("LastModifiedTimeBefore", inf)
        and wanted.get("StatusEquals", row.status) == row.status
    )


def pages(records: list[Row], params: dict[str, Any]) -> list[Row]:
    found, token = page(records, params)
    while token:
        more, token = page(records, {**params, "NextToken": token})
        found += more
        assert more
        assert len(found) <= len(records)
    return found


@given(rows, orders)
def test_all_pages_together_are_all_in_order(records: list[Row], params: dict[str, Any]) -> None:
    whole, token = page(records, {**params, "MaxResults": max(len(records), 1)})
    assert token is None
    assert sorted(r.name for r in whole) == sorted(r.name for r in records)
    assert pages(records, params) == whole


@given(rows, filters, orders)
def test_a_listing_is_all_that_fits_in_the_order_asked_for(
    records: list[Row], wanted: dict[str, Any], params: dict[str, Any]
) -> None:
    found = pages(records, {**params, **wanted})
    assert set(found) == {row for row in records if fits(row, wanted)}
    keys = list(map(KEYS[params.get("SortBy", "CreationTime")], found))
    assert keys == sorted(keys, reverse=params.get("SortOrder", "Descending") == "Descending")


@given(several, orders, st.data())
def test_a_record_deleted_between_two_pages_hides_no_other(
    records: list[Row], params: dict[str, Any], data: st.DataObject
) -> None:
    first, token = page(records, {**params, "MaxResults": 2})
    gone = data.draw(st.sampled_from(first))
    rest, _ = page([row for row in records if row != gone], {**params, "MaxResults": 100, "NextToken": token})
    assert {row.name for row in first + rest} == {row.name for row in records}


def test_the_newest_come_first_and_ten_of_them(control_plane: InMemoryControlPlane) -> None:
    for number in range(12):
        control_plane.now_s = number
        control_plane("CreateModel", ModelName=f"m{number}", PrimaryContainer=MULTI_MODEL)
    answer = control_plane("ListModels")
    assert [model["ModelName"] for model in answer["Models"]] == [f"m{number}" for number in range(11, 1, -1)]
    last = control_plane("ListModels", NextToken=answer["NextToken"])
    assert [model["ModelName"] for model in last["Models"]] == ["m1", "m0"]
    assert last["NextToken"] is None


@pytest.mark.parametrize("created_s", [10.00049, 10.0005, 10.0006])
def test_a_model_is_found_by_its_shown_creation_time(control_plane: InMemoryControlPlane, created_s: float) -> None:
    control_plane.now_s = created_s
    control_plane("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL)
    shown_s = round(created_s, 3)
    assert len(control_plane("ListModels", CreationTimeAfter=shown_s)["Models"]) == 1
    assert control_plane("ListModels", CreationTimeBefore=shown_s)["Models"] == []


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"NameContains": "ew"}, ["new", "newer"]),
        ({"CreationTimeBefore": 20.0}, ["old"]),
        ({"CreationTimeAfter": 20.0}, ["new", "newer"]),
        ({"LastModifiedTimeBefore": 21.0}, ["old"]),
        ({"LastModifiedTimeAfter": 21.0}, ["newer"]),
        ({"StatusEquals": "Failed"}, ["newer"]),
        ({"SortOrder": "Descending"}, ["old", "newer", "new"]),
        ({"SortBy": "Status", "SortOrder": "Ascending"}, ["newer", "new", "old"]),
    ],
)
def test_endpoints_are_filtered_and_sorted(
    control_plane: InMemoryControlPlane, params: dict[str, Any], names: list[str]
) -> None:
    for name, at_s in (("old", 10), ("new", 20), ("newer", 30)):
        control_plane.now_s = at_s
        control_plane.create(name)
        control_plane.now_s = at_s + 1
        control_plane.settle(name, EndpointEvent.FAILED if name == "newer" else EndpointEvent.READY)
    listed = control_plane("ListEndpoints", **{"SortBy": "Name", "SortOrder": "Ascending", **params})["Endpoints"]
    assert [endpoint["EndpointName"] for endpoint in listed] == names


@pytest.mark.parametrize("token", ["", "x", "bm8=", "é", "WzEsMiwzLDRd"])
def test_a_token_from_elsewhere_is_refused_or_ignored_when_empty(token: str) -> None:
    if not token:
        assert page([Row("a", 1.0)], {"NextToken": token}) == ([Row("a", 1.0)], None)
        return
    with pytest.raises(AwsError, match="NextToken"):
        page([], {"NextToken": token})


def test_a_token_belongs_to_its_order() -> None:
    _, token = page([Row("a", 1.0), Row("b", 2.0)], {"MaxResults": 1, "SortBy": "Name"})
    with pytest.raises(AwsError, match="NextToken"):
        page([], {"NextToken": token, "SortBy": "CreationTime"})
