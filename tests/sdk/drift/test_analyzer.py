"""The program that stands for Model Monitor's image: its variables, its files, its exit message, what it refuses."""

import json
from collections.abc import Iterator
from pathlib import Path

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


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"dataset_format": '{"parquet": {}}'}, "with one of csv, sagemakerCaptureJson"),
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
