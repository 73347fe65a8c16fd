"""The program that stands for Model Monitor's image: its variables, its files, its exit message, what it refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from tests.sdk.drift.test_drift_command import record, rows
from torpor.drift.analyzer import MonitoringJob
from torpor.drift.captured_rows import CapturedRow
from torpor.drift.drift_reports import ModelRows
from torpor.errors import TorporError

CAPTURED = '{"sagemakerCaptureJson": {"captureIndexNames": ["endpointInput"]}}'
CSV = '{"csv": {"header": true, "output_columns_position": "START"}}'
PLACES = {"dataset_source": "/opt/ml/processing/input", "output_path": "/opt/ml/processing/output"}
OF_CSV = {"dataset_format": CSV, **PLACES}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A job's folder, with a CSV of a baseline as input."""
    for name in ("input", "output"):
        (tmp_path / "processing" / name).mkdir(parents=True)
    (tmp_path / "processing/input/rows.csv").write_text("rooms,size\n" + rows(0.5))
    return tmp_path


def test_a_csv_becomes_a_baseline(root: Path) -> None:
    assert MonitoringJob(OF_CSV, root).run() == "Completed: Job completed successfully with no violations."
    made = {one.name: json.loads(one.read_text()) for one in (root / "processing/output").iterdir()}
    assert sorted(made) == ["constraints.json", "statistics.json"]
    assert made["statistics.json"]["dataset"]["item_count"] == 300
    assert [one["name"] for one in made["constraints.json"]["features"]] == ["rooms", "size"]


def test_captured_records_are_compared_model_by_model(root: Path) -> None:
    MonitoringJob(OF_CSV, root).run()
    (root / "processing/output").rename(root / "processing/baseline")
    (root / "processing/input/rows.csv").unlink()
    lines = [record("a.tar.gz", 12, rows(9.5)), record("b.tar.gz", 12, rows(0.5)), record("c.tar.gz", 8, rows(0.5))]
    (root / "processing/input/one.jsonl").write_text("\n".join(lines))
    baseline = {f"baseline_{one}": f"/opt/ml/processing/baseline/{one}.json" for one in ("statistics", "constraints")}
    since = {"start_time": "2026-11-29T10:00:00Z", "end_time": "2026-11-29T13:00:00Z"}
    message = MonitoringJob({"dataset_format": CAPTURED, **PLACES, **baseline, **since}, root).run()
    assert message == "CompletedWithViolations: Job completed successfully with 1 violations."
    found = {one.parent.name: one.read_text() for one in (root / "processing/output").rglob("constraint_viol*")}
    assert sorted(found) == ["a.tar.gz", "b.tar.gz"]
    assert "baseline_drift_check" in found["a.tar.gz"]


ROWS = [{"rooms": number % 3, "size": number / 7} for number in range(40)]


def statistics(root: Path, form: str) -> dict[str, Any]:
    MonitoringJob({**OF_CSV, "dataset_format": form}, root).run()
    found: dict[str, Any] = json.loads((root / "processing/output/statistics.json").read_text())
    return found


def test_json_and_parquet_are_described_as_csv_is(root: Path) -> None:
    place = root / "processing/input/rows.csv"
    place.write_text("rooms,size\n" + "".join(f"{one['rooms']},{one['size']}\n" for one in ROWS))
    expected = statistics(root, CSV)
    assert expected["dataset"]["item_count"] == len(ROWS)
    place.write_text("".join(json.dumps(one) + "\n" for one in ROWS))
    assert statistics(root, '{"json": {"lines": true}}') == expected
    place.write_text(json.dumps(ROWS))
    assert statistics(root, '{"json": {"line": false}}') == expected
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), place)
    assert statistics(root, '{"parquet": {}}') == expected


def test_a_value_that_a_record_lacks_is_missing_and_a_further_one_is_refused(root: Path) -> None:
    place, lines = root / "processing/input/rows.csv", '{"json": {"lines": true}}'
    place.write_text('{"a": 1, "b": 2}\n{"a": 3}\n{"a": null, "b": 4}\n')
    columns = statistics(root, lines)["features"]
    assert [one["numerical_statistics"]["common"]["num_missing"] for one in columns] == [1, 1]
    place.write_text('{"a": 1}\n{"b": 2}\n')
    with pytest.raises(TorporError, match="line 2 has 'b', and the first record has not"):
        statistics(root, lines)
    place.write_text('[1, 2]\n{"b": 2}\n')
    with pytest.raises(TorporError, match="line 2 must be an array, as the first record is"):
        statistics(root, lines)


@pytest.mark.parametrize(("position", "first"), [("START", "answer"), ("END", "request")])
def test_answers_stand_where_their_position_says(root: Path, position: str, first: str) -> None:
    (root / "processing/input/rows.csv").unlink()
    sides = ["endpointInput", "endpointOutput"]
    side = {"encoding": "CSV", "mode": "INPUT", "observedContentType": "text/csv"}
    captured = {"endpointInput": {**side, "data": "request"}, "endpointOutput": {**side, "data": "answer"}}
    kept = {"captureData": captured, "eventMetadata": {"inferenceTime": "2026-11-29T12:00:00Z", "eventId": "e"}}
    (root / "processing/input/one.jsonl").write_text(json.dumps(kept))
    form = {"sagemakerCaptureJson": {"captureIndexNames": sides, "output_columns_position": position}}
    MonitoringJob({**OF_CSV, "dataset_format": json.dumps(form)}, root).run()
    found = json.loads((root / "processing/output/statistics.json").read_text())
    assert first in json.dumps(found["features"][0])
    assert len(found["features"]) == 2


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"dataset_format": '{"avro": {}}'}, "with one of csv, json, parquet, sagemakerCaptureJson"),
        ({"dataset_format": '{"csv": {"header": 1}}'}, "header must be true or false"),
        ({"dataset_format": '{"csv": {"columns": 1}}'}, "csv has no columns: it takes header, output_columns_position"),
        ({"dataset_format": '{"csv": {"output_columns_position": "LEFT"}}'}, "position must be START or END"),
        ({"dataset_format": '{"parquet": {"header": true}}'}, "parquet has no header: it takes no settings"),
        ({"dataset_format": '{"parquet": {}}'}, "rows.csv is no Parquet file"),
        ({"dataset_format": '{"json": {"lines": true}}'}, "rows.csv is no JSON"),
        ({"dataset_format": '{"json": {"line": true, "lines": true}}'}, "give one of them"),
        ({"dataset_format": "csv"}, "with one of csv"),
        ({"dataset_format": '{"sagemakerCaptureJson": {"captureIndexNames": 5}}'}, "captureIndexNames must be of"),
        ({"dataset_format": '{"sagemakerCaptureJson": {"captureIndexNames": [{}]}}'}, "captureIndexNames must be of"),
        ({"dataset_source": "/etc"}, "dataset_source must be a path below /opt/ml"),
        ({"start_time": "yesterday"}, "start_time must be a time"),
        ({"publish_cloudwatch_metrics": "Enabled"}, "must be Disabled"),
        ({"record_preprocessor_script": "/opt/ml/a.py"}, "record_preprocessor_script is not supported"),
        ({"baseline_statistics": "/opt/ml/s.json"}, "must be given together"),
        ({"dataset_source": "/opt/ml/processing/output"}, "dataset_source has no rows"),
    ],
)
def test_what_it_cannot_do_is_said(root: Path, variables: dict[str, str], said: str) -> None:
    with pytest.raises(TorporError, match=said):
        MonitoringJob({**OF_CSV, **variables}, root).run()


def test_a_row_is_let_go_before_the_next_one_is_read() -> None:
    class Row(tuple[str, ...]):
        alive = 0

        def __del__(self) -> None:
            Row.alive -= 1

    def captured() -> Iterator[CapturedRow]:
        for number in range(1000):
            assert Row.alive <= 1
            Row.alive += 1
            yield CapturedRow("m", float(number), Row((str(number % 7), "x" * 10_000)))

    seen = ModelRows(began_s=500.0)
    seen.add(captured())
    [report] = seen.reports()
    assert (report.rows, report.violations) == (500, [])
    assert len(json.dumps(report.statistics)) < 20_000
