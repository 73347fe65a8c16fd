"""No two objects have one result, whatever the prefix."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.services.transform.running.inputs import objects

KEYS = st.text("a/.", max_size=6)


@pytest.mark.parametrize(
    ("keys", "prefix", "results"),
    [
        (["in/a.csv", "in/more/b.csv"], "in/", ["out/a.csv.out", "out/more/b.csv.out"]),
        (["in/a.csv", "in/more/b.csv"], "in", ["out/a.csv.out", "out/more/b.csv.out"]),
        (["in/a.csv"], "in/a.csv", ["out/a.csv.out"]),
        (["in/a/ax.csv", "in/ax.csv"], "in/a", ["out/a/ax.csv.out", "out/ax.csv.out"]),
        (["in/", "in//a"], "in/", ["out//a.out"]),
    ],
)
def test_a_result_has_the_objects_part_below_the_prefix(keys: list[str], prefix: str, results: list[str]) -> None:
    assert [one.result for one in objects(keys, "bucket", prefix, "out/")] == results


@given(prefix=KEYS, rests=st.sets(KEYS, max_size=6))
def test_each_object_has_a_result_of_its_own(prefix: str, rests: set[str]) -> None:
    found = objects([f"{prefix}{rest}" for rest in rests], "bucket", prefix, "out/")
    assert len({one.result for one in found}) == len(found)
