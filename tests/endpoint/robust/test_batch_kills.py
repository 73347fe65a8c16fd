"""A transform job survives the death of its instances, of the endpoint's worker and of the whole endpoint."""

from pathlib import Path

import pytest

from benchmarks.batch_kills import RECORDS, survive, wrong


@pytest.mark.thorough
def test_each_object_has_its_one_result_when_processes_are_killed(tmp_path: Path) -> None:
    """`python -m benchmarks.batch_kills` is the same with 500 objects, and kills until the job has ended."""
    found = survive(tmp_path, seed=3, objects=30, plan=["instance", "worker"])
    assert found.faults == []
    assert found.kills == {"instance": 1, "worker": 1, "endpoint": 0}


def test_a_result_that_lacks_a_record_is_found(tmp_path: Path) -> None:
    lines = [f"0,{record},{record}\n" for record in range(RECORDS)]
    (tmp_path / "0.csv.out").write_text("".join(lines[1:] + lines[:1]))
    (tmp_path / "2.csv.out").write_text("")
    assert sorted(wrong(tmp_path, 2)) == [
        "0.csv.out has other records",
        "1.csv.out is missing",
        "2.csv.out is too many",
    ]
