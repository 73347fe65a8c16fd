"""The two public formats of Azure Functions."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from torpor.simulator.simulation_inputs import load
from torpor.workloads import Azure2019, Azure2021, BadTrace, named, read, requests

HEADER_2019 = ",".join(["HashOwner", "HashApp", "HashFunction", "Trigger", *map(str, range(1, 1441))])


def day(path: Path, *rows: tuple[str, dict[int, object]]) -> Path:
    lines = [",".join([name, *(str(counts.get(minute, 0)) for minute in range(1, 1441))]) for name, counts in rows]
    path.write_text("\n".join([HEADER_2019, *lines]) + "\n")
    return path


def test_counts_by_the_minute_become_requests_within_it(tmp_path: Path) -> None:
    one = day(tmp_path / "d01.csv", ("o,a,f,http", {2: 3, 1440: 1}), ("o,a,g,timer", {1: 2}))
    two = day(tmp_path / "d02.csv", ("o,a,g,timer", {1: 1}))
    story = list(requests(Azure2019([one, two], seed=1)))
    minutes = Counter((int(time_s // 60), model) for time_s, model in story)
    assert minutes == {(0, "o/a/g"): 2, (1, "o/a/f"): 3, (1439, "o/a/f"): 1, (1440, "o/a/g"): 1}
    assert story == list(requests(Azure2019([one, two], seed=1))) != list(requests(Azure2019([one, two], seed=2)))


def test_many_requests_come_in_chunks_of_whole_minutes(tmp_path: Path) -> None:
    counts: dict[int, object] = dict.fromkeys(range(1, 8), 30_000)
    chunks = list(Azure2019([day(tmp_path / "d01.csv", ("o,a,f,http", counts))]).chunks())
    assert sum(map(len, chunks)) == 210_000
    assert len(chunks) > 2
    assert all(len(chunk) % 30_000 == 0 for chunk in chunks)


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ({5: -1}, "row 1: minute 5 has a negative count"),
        ({5: "x"}, "row 1: minute 5 is 'x', which is not a count"),
        ({5: ""}, "row 1: minute 5 is '', which is not a count"),
        ({5: 10**20}, f"row 1: minute 5 is '{10**20}', which is not a count"),
        ({}, "has no requests"),
    ],
)
def test_bad_counts_are_refused(tmp_path: Path, counts: dict[int, object], complaint: str) -> None:
    with pytest.raises(BadTrace, match=complaint):
        list(Azure2019([day(tmp_path / "d01.csv", ("o,a,f,http", counts))]).chunks())


def test_the_error_of_a_wrong_header_names_the_column(tmp_path: Path) -> None:
    (tmp_path / "d01.csv").write_text("HashOwner,HashFunction\n")
    with pytest.raises(BadTrace, match="column 2 is 'HashFunction', but should be 'HashApp'"):
        list(Azure2019([tmp_path / "d01.csv"]).chunks())


def test_single_invocations_are_put_in_the_order_of_their_arrival(tmp_path: Path) -> None:
    (tmp_path / "2021.txt").write_text("app,func,end_timestamp,duration\nA,f,10,1\nA,g,12,8\nB,f,13,0.5\nB,g,0.5,2\n")
    story = [tuple(request) for request in requests(Azure2021(tmp_path / "2021.txt"))]
    assert story == [(0.0, "B/g"), (4.0, "A/g"), (9.0, "A/f"), (12.5, "B/f")]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("A,f,10", "has 3 columns, not 4"),
        ("A,f,10,1,1", "has 5 columns, not 4"),
        ("A,f,ten,1", "end_timestamp 'ten' is not a number"),
        ("A,f,10,-1", "duration '-1' is not a number of seconds of 0 or more"),
        ("A,f,10,nan", "duration 'nan' is not a number"),
        ("A,f,nan,1", "end_timestamp 'nan' is not a number"),
    ],
)
def test_the_error_of_a_bad_invocation_names_the_row_and_column(tmp_path: Path, row: str, complaint: str) -> None:
    (tmp_path / "2021.txt").write_text(f"app,func,end_timestamp,duration\nA,f,1,1\n{row}\n")
    with pytest.raises(BadTrace, match=f"row 2:? {complaint}"):
        list(Azure2021(tmp_path / "2021.txt").chunks())


@pytest.mark.parametrize("name", ["d01.csv", "d01.txt"])
def test_a_day_of_2019_is_known_by_its_header(tmp_path: Path, name: str) -> None:
    path = day(tmp_path / name, ("o,a,f,http", {2: 3}))
    assert list(requests(named(path))) == list(requests(Azure2019([path])))
    assert list(requests(load(path, seed=3).trace)) == list(requests(Azure2019([path], seed=3)))
    assert read(path).lasts_s == 86_400


@pytest.mark.parametrize("name", ["2021.csv", "2021.txt"])
def test_the_trace_of_2021_is_known_by_its_header(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("app,func,end_timestamp,duration\nA,f,10,1\nA,g,12,8\n")
    assert [tuple(request) for request in requests(named(str(tmp_path / name)))] == [(4.0, "A/g"), (9.0, "A/f")]


def test_the_error_of_another_file_of_the_set_names_the_column(tmp_path: Path) -> None:
    (tmp_path / "durations.csv").write_text("HashOwner,HashApp,HashFunction,Average,Count\no,a,f,1,2\n")
    with pytest.raises(BadTrace, match="column 4 is 'Average', but should be 'Trigger'"):
        list(read(tmp_path / "durations.csv").chunks())


@pytest.mark.parametrize(
    ("days", "said"), [("d01.csv", "days is a list, .*, not 'd01.csv'"), ([], "at least one file")]
)
def test_days_are_several_files(days: Any, said: str) -> None:
    with pytest.raises(BadTrace, match=said):
        Azure2019(days)
