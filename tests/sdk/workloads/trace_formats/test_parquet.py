"""Parquet files of other writers: types of time, dictionaries, missing values."""

from pathlib import Path
from typing import Any

import pytest

from torpor.workloads import BadTrace, read, requests

arrow: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")


def stored(folder: Path, **columns: Any) -> Path:
    parquet.write_table(arrow.table(columns), folder / "trace.parquet")
    return folder / "trace.parquet"


def test_timestamps_and_dictionaries_are_understood(tmp_path: Path) -> None:
    times = arrow.array([1_500, 60_000], arrow.timestamp("ms"))
    path = stored(tmp_path, timestamp=times, model=arrow.array(["b", "a"]).dictionary_encode())
    assert [tuple(one) for one in requests(read(path))] == [(1.5, "b"), (60.0, "a")]


def test_names_may_be_bytes_or_whole_numbers_and_a_dictionary_may_have_more_than_are_used(tmp_path: Path) -> None:
    coded = arrow.DictionaryArray.from_arrays([2, 1, 2], ["", "a", "b"])
    for models, names in (([b"m\xc3\xbc", b"a", b"a"], ["mü", "a", "a"]), ([7, 8, 7], ["7", "8", "7"]), (coded, "bab")):
        trace = read(stored(tmp_path, time=[0.0, 1.0, 2.0], model=models))
        assert [model for _, model in requests(trace)] == list(names)
        assert set(trace.names) == set(names)


def test_a_timestamp_is_read_in_any_unit_and_century(tmp_path: Path) -> None:
    far_us = 9_300_000_000_000_000  # in the year 2264: nanoseconds would have begun again
    times = arrow.array([1_500_000, far_us], arrow.timestamp("us", "Europe/Berlin"))
    assert [at_s for at_s, _ in requests(read(stored(tmp_path, time=times, model=["a", "b"])))] == [1.5, far_us / 1e6]


def test_sizes_may_be_written_as_fractions_that_are_whole(tmp_path: Path) -> None:
    for sizes in ([3.0, 1.0], [2**63 - 1, 2**53 + 1]):
        trace = read(stored(tmp_path, time=[0.0, 1.0], model=["a", "b"], bytes=sizes))
        read_bytes = [chunk.request_bytes for chunk in trace.chunks()]
        assert [one.tolist() for one in read_bytes if one is not None] == [sizes]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"time": [0.0, None], "model": ["a", "b"]}, "row 2: column 'time' has no value"),
        ({"time": [0.0, 1.0], "model": ["a", None]}, "row 2: column 'model' has no value"),
        ({"time": [0.0, 1.0], "model": ["a", ""]}, "row 2: the model has no name"),
        (
            {"time": [0.0, 1.0], "model": [b"a", b"\xff"]},
            r"row 2: b'\\xff' is not a model's name: that is text in UTF-8",
        ),
        (
            {"time": [0.0, 1.0], "model": [0.5, 1.5]},
            r"row 1: 0\.5 is not a model's name: that is text, or a whole number",
        ),
        ({"time": [0.0, 1.0], "model": [True, False]}, "is not a model's name: that is text, or a whole number"),
        ({"time": ["x", "y"], "model": ["a", "b"]}, "column 'time' holds string, not numbers"),
        ({"time": [0.0], "model": ["a"], "user": ["me"]}, "column 'user' is unknown"),
        ({"time": [0.0, 1.0], "model": ["a", "b"], "bytes": [1.0, 2.5]}, r"row 2: 2\.5 is not a size in bytes"),
        ({"time": [0.0, 1.0], "model": ["a", "b"], "bytes": [1.0, float("nan")]}, "row 2: nan is not a size in bytes"),
        ({"time": [0.0], "model": ["a"], "bytes": [1e19]}, r"row 1: 1e\+19 is not a size in bytes"),
        (
            {"timestamp": [0, 1_700_000_000_000], "model": ["a", "b"]},
            "row 2: time 1700000000000 in column 'timestamp' cannot be",
        ),
        ({"time": [1.0, 0.5], "model": ["a", "a"]}, "row 2: time 0.5 is earlier"),
    ],
)
def test_a_parse_error_names_the_place(tmp_path: Path, columns: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadTrace, match=complaint):
        list(requests(read(stored(tmp_path, **columns))))


def test_a_file_that_breaks_in_the_middle_is_refused_by_name(tmp_path: Path) -> None:
    path = stored(tmp_path, time=[float(number) for number in range(10_000)], model=["a"] * 10_000)
    whole = path.read_bytes()
    path.write_bytes(whole[:1_000] + b"\xff" * 10_000 + whole[11_000:])
    with pytest.raises(BadTrace, match=r"trace\.parquet cannot be read as Parquet: "):
        list(read(path).chunks())


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trace.parquet").write_text("time,model\n")
    with pytest.raises(BadTrace, match="cannot be read as Parquet"):
        list(read(tmp_path / "trace.parquet").chunks())
