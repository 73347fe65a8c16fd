"""Parquet of other hands: types of time, dictionaries, holes."""

from pathlib import Path
from typing import Any

import pytest

from torpor.simulator.workloads import BadTrace, read, requests

arrow: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")


def stored(folder: Path, **columns: Any) -> Path:
    parquet.write_table(arrow.table(columns), folder / "trace.parquet")
    return folder / "trace.parquet"


def test_timestamps_and_dictionaries_are_understood(tmp_path: Path) -> None:
    times = arrow.array([1_500, 60_000], arrow.timestamp("ms"))
    path = stored(tmp_path, timestamp=times, model=arrow.array(["b", "a"]).dictionary_encode())
    assert [tuple(one) for one in requests(read(path))] == [(1.5, "b"), (60.0, "a")]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"time": [0.0, None], "model": ["a", "b"]}, "row 2: column 'time' has no value"),
        ({"time": [0.0, 1.0], "model": ["a", None]}, "row 2: column 'model' has no value"),
        ({"time": [0.0, 1.0], "model": ["a", ""]}, "row 2: the model has no name"),
        ({"time": ["x", "y"], "model": ["a", "b"]}, "column 'time' holds string, no numbers"),
        ({"time": [0.0], "model": ["a"], "user": ["me"]}, "column 'user' is unknown"),
        ({"time": [1.0, 0.5], "model": ["a", "a"]}, "row 2: time 0.5 is earlier"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, columns: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadTrace, match=complaint):
        list(requests(read(stored(tmp_path, **columns))))


def test_a_file_that_breaks_in_the_middle_is_told(tmp_path: Path) -> None:
    path = stored(tmp_path, time=[float(number) for number in range(10_000)], model=["a"] * 10_000)
    whole = path.read_bytes()
    path.write_bytes(whole[:1_000] + b"\xff" * 10_000 + whole[11_000:])
    with pytest.raises(BadTrace, match=r"trace\.parquet cannot be read as Parquet: "):
        list(read(path).chunks())


def test_a_file_that_is_no_parquet_is_told(tmp_path: Path) -> None:
    (tmp_path / "trace.parquet").write_text("time,model\n")
    with pytest.raises(BadTrace, match="cannot be read as Parquet"):
        list(read(tmp_path / "trace.parquet").chunks())
