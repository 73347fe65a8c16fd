"""What a whole endpoint accepted outlasts a full disk, a database or S3 that is away, and a want of descriptors."""

import os
from pathlib import Path

import pytest

from benchmarks.outages import OUTAGES, judged, outlast
from benchmarks.outages import Outlasted as Found
from tests.account.helpers.postgresql_server import programs


@pytest.mark.thorough
@pytest.mark.parametrize("what", OUTAGES)
def test_each_request_and_object_that_was_accepted_ends_as_it_earned(tmp_path: Path, what: str) -> None:
    """`python -m benchmarks.outages` is the same with 2,000 requests, 500 objects and five outages of each kind. `make
    test` has the failing machines of asynchronous requests and batch jobs, which fail each of their steps."""
    if what == "disk" and os.geteuid() != 0:
        pytest.skip("only root mounts a small disk")
    if what == "postgresql" and programs() is None:
        pytest.skip("PostgreSQL is not installed")
    found = outlast(what, tmp_path, requests=60, objects=10, rounds=1, away_s=1.0)
    assert found.faults == []
    assert (found.accepted, found.results, found.failures) == (60, 48, 12)


def test_a_request_with_both_objects_or_none_is_found(tmp_path: Path) -> None:
    for folder, name, text in (
        ("out/n", "0.csv", "7\n"),
        ("failed/n", "0.csv-error.out", "no"),
        ("out/n", "2.csv", "8\n"),
        ("failed/n", "4.csv-error.out", "not enough values"),
        ("out/n", "9.csv", "1\n"),
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / name).write_text(text)
    faults = judged(tmp_path, 5, Found("disk"))
    assert [fault.split(" has")[0] for fault in faults] == [*(f"request {n}" for n in range(4)), "9.csv is too many"]
