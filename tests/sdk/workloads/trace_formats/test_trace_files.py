"""Traces in files: a written trace is read back, and an error names its place."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor.errors import MissingExtra
from torpor.extras import require
from torpor.workloads import BadTrace, Chunk, Recorded, read, recorded, requests, write, zipf
from torpor.workloads.trace_formats.trace_files import READERS, WRITERS

try:
    require("", "parquet")
    PARQUET = True
except MissingExtra:
    PARQUET = False

KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(kind == ".parquet" and not PARQUET, reason="needs pyarrow"))
    for kind in WRITERS
]


def csv(folder: Path, text: str) -> Path:
    (folder / "trace.csv").write_text(text)
    return folder / "trace.csv"


def read_all(path: Path, columns: Mapping[str, str] | None = None) -> list[tuple[float, str]]:
    return [(time_s, model) for time_s, model in requests(read(path, columns))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_trace_is_read_back_to_the_last_bit(tmp_path: Path, kind: str) -> None:
    trace = zipf(30, rate_hz=1_000, duration_s=70, seed=1)  # more than a chunk
    write(trace, tmp_path / f"trace{kind}")
    assert list(requests(read(tmp_path / f"trace{kind}"))) == list(requests(trace))


@pytest.mark.parametrize("kind", KINDS)
def test_request_sizes_are_read_back_too(tmp_path: Path, kind: str) -> None:
    chunk = Chunk(np.array([0.25, 1.0]), np.array([1, 0], np.int32), np.array([10, 6_000_000_000]))
    write(Recorded(["a", "b"], [chunk]), tmp_path / f"trace{kind}")
    back = read(tmp_path / f"trace{kind}")
    (only,) = back.chunks()
    assert only.request_bytes is not None
    assert only.request_bytes.tolist() == [10, 6_000_000_000]
    assert [back.names[model] for model in only.models] == ["b", "a"]


@settings(max_examples=tries(20), deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1e12), st.text(st.characters(exclude_categories=["C"]), min_size=1)), min_size=1
    )
)
def test_any_names_and_times_survive_csv(
    rows: list[tuple[float, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "trace.csv"
    write(recorded(sorted(rows)), path)
    assert read_all(path) == sorted(rows)


@pytest.mark.parametrize("header", ["time_s,model", "Timestamp,Target-Model", "TS, Model Name", "arrival_s,name"])
def test_headers_are_known_in_many_words(tmp_path: Path, header: str) -> None:
    assert read_all(csv(tmp_path, f"{header}\n0.5,a\n1,b\n")) == [(0.5, "a"), (1.0, "b")]


def test_milliseconds_and_moments_are_turned_into_seconds(tmp_path: Path) -> None:
    assert read_all(csv(tmp_path, "time_ms,model\n1500,a\n")) == [(1.5, "a")]
    moments = "time,model\n1970-01-01T00:01:00Z,a\n1970-01-01 00:01:30,b\n1970-01-01T01:02:00+01:00,c\n"
    assert read_all(csv(tmp_path, moments)) == [(60.0, "a"), (90.0, "b"), (120.0, "c")]


def test_columns_can_be_chosen_and_the_others_stay_unread(tmp_path: Path) -> None:
    path = csv(tmp_path, "status,t0,func\n200,1,a\n500,2,b\n")
    assert read_all(path, {"time": "t0", "model": "func"}) == [(1.0, "a"), (2.0, "b")]


def test_a_trace_can_be_read_twice_with_the_same_numbers(tmp_path: Path) -> None:
    trace = read(csv(tmp_path, "time,model\n0,b\n1,a\n2,b\n"))
    assert [[chunk.models.tolist() for chunk in trace.chunks()] for _ in range(2)] == [[[0, 1, 0]]] * 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("time,model\n", "has no requests"),
        ("time,model,user\n0,a,me\n", "column 'user' is unknown: a trace has time_s, model, request_bytes"),
        ("time\n0\n", "no column for the model: none of model, model_name.*among time"),
        ("time,model,Model\n0,a,a\n", "columns 'model' and 'Model' are both the model"),
        ("time,ts,model\n0,0,a\n", "columns 'time' and 'ts' are both the time"),
        ("time,model\n0,a\nsoon,b\n", "row 2: time 'soon' is neither a number of seconds"),
        (
            "time_ms,model\n5,a\n1970-01-01T00:01:00Z,a\n",
            "row 2: time '1970-01-01T00:01:00Z' is not a number of millisec",
        ),
        ("time,model\n0,a\n1\n", "row 2 has 1 columns, and the header 2"),
        (
            "time,model\n1,house,2.tar.gz\n",
            "row 1 has 3 columns, and the header 2: quote a name that has a comma in it",
        ),
        ("time;model\n0;a\n", "its columns are separated by semicolons: separate them by commas"),
        ("time\tmodel\n0\ta\n", "its columns are separated by tabs: separate them by commas"),
        ("time,model\n0,a\n1,\n", "row 2: the model has no name"),
        ("time,model\n0,a\n5,a\n4,a\n", "row 3: time 4.0 is earlier"),
        ("time,model\nnan,a\n", "row 1: time nan is not a finite number"),
        ("time,model\n-2,a\n", "row 1: time -2.0 is negative"),
        ("time,model,bytes\n0,a,-1\n", "row 1: a size of -1 bytes is negative"),
        ("time,model,bytes\n0,a,many\n", "row 1: 'many' is not a size in bytes"),
        ("time,model,bytes\n0,a,1\n0,a,\n", "row 2: '' is not a size in bytes"),
        ("time,model,bytes\n0,a,9223372036854775808\n", "row 1: '9223372036854775808' is not a size in bytes"),
        ("time,model,bytes\n0,a,-9223372036854775809\n", "row 1: '-9223372036854775809' is not a size in bytes"),
    ],
)
def test_a_parse_error_names_the_file_and_the_place(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadTrace, match=complaint) as told:
        read_all(csv(tmp_path, text))
    assert "trace.csv" in str(told.value)


@pytest.mark.parametrize("name", ["time", "timestamp", "ts", "at", "arrival", "Time"])
@pytest.mark.parametrize("moment", [1_700_000_000_000, 1_700_000_000_000_000, 1_700_000_000_000_000_000])
def test_moments_in_smaller_units_need_a_name_that_says_so(tmp_path: Path, name: str, moment: int) -> None:
    path = csv(tmp_path, f"{name},model\n0,a\n{moment},a\n")
    with pytest.raises(
        BadTrace, match=f"row 2: time {moment} in column '{name}' cannot be in seconds: name the column"
    ):
        read_all(path)
    chosen = csv(tmp_path, f"t0,model\n{moment},a\n")
    with pytest.raises(BadTrace, match="in column 't0' cannot be in seconds"):
        read_all(chosen, {"time": "t0", "model": "model"})


@pytest.mark.parametrize(
    ("name", "times", "seconds"),
    [
        ("timestamp", "1700000000", 1.7e9),
        ("timestamp", "253402300799", 253402300799.0),  # the year 9999
        ("timestamp", "9999-12-31T23:59:59Z", 253402300799.0),
        ("time_s", "1700000000000", 1.7e12),
        ("timestamp_ms", "1700000000000", 1.7e9),
        ("Timestamp US", "1700000000000000", 1.7e9),
        ("time_ns", "1700000000000000000", 1.7e9),
        ("microseconds", "2500000", 2.5),
    ],
)
def test_a_times_unit_is_as_it_is_named(tmp_path: Path, name: str, times: str, seconds: float) -> None:
    ((time_s, _),) = read_all(csv(tmp_path, f"{name},model\n{times},a\n"))
    assert time_s == pytest.approx(seconds, rel=1e-12)


def test_a_chosen_columns_unit_is_as_it_is_named(tmp_path: Path) -> None:
    path = csv(tmp_path, "started_ms,func\n1500,a\n")
    assert read_all(path, {"time": "started_ms", "model": "func"}) == [(1.5, "a")]


def test_chosen_columns_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    path = csv(tmp_path, "a,b\n0,x\n")
    with pytest.raises(BadTrace, match="no column for the model: none of func is among a, b"):
        read_all(path, {"time": "a", "model": "func"})
    with pytest.raises(BadTrace, match="name the column of the model too"):
        read_all(path, {"time": "a"})
    with pytest.raises(BadTrace, match="a trace has no 'size': choose from time, model, bytes"):
        read_all(path, {"time": "a", "model": "b", "size": "b"})


def test_a_missing_file_or_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadTrace, match="No such file"):
        read_all(tmp_path / "none.csv")
    with pytest.raises(BadTrace, match=r"a trace is a file that ends in \.csv"):
        read(tmp_path / "trace.json")
    with pytest.raises(BadTrace, match="trace is a file that ends in"):
        write(recorded([(0, "a")]), tmp_path / "trace.sqlite")


def test_a_trace_that_fails_while_it_is_written_leaves_the_old_file(tmp_path: Path) -> None:
    kept = csv(tmp_path, "time,model\n0,a\n")
    with pytest.raises(BadTrace):
        write(recorded([(1, "a"), (0, "a")]), kept)
    assert read_all(kept) == [(0.0, "a")]
    assert [path.name for path in tmp_path.iterdir()] == ["trace.csv"]


@pytest.mark.skipif(PARQUET, reason="pyarrow is there")
def test_without_pyarrow_the_extra_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match=r"torpor\[parquet\]"):
        read_all(tmp_path / "trace.parquet")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("trace.csv", b"time,model\n0,\xff\xfe\n"),
        ("trace.csv.gz", b"time,model\n"),
        ("trace.csv.gz", b"\x1f\x8b\x08\x00"),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_name(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadTrace, match=name):
        read_all(tmp_path / name)


def test_blank_rows_and_a_mark_at_the_beginning_do_not_count(tmp_path: Path) -> None:
    path = csv(tmp_path, "\ufefftime,model\n\n0,a\n\n\n1,b\n")
    assert read_all(path) == [(0.0, "a"), (1.0, "b")]


def test_every_kind_that_is_written_can_be_read() -> None:
    assert set(WRITERS) <= set(READERS)
