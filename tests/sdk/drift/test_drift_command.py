"""`torpor drift` over captured records: a baseline from a CSV, from records before a time, and from an earlier run."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from torpor.cli import app


def record(model: str, hour: int, data: str, encoding: str = "CSV") -> str:
    side = {"observedContentType": "text/csv", "mode": "INPUT", "data": data, "encoding": encoding}
    metadata = {"eventId": "e", "inferenceTime": f"2026-11-29T{hour:02}:00:00Z", "torporTargetModel": model}
    return json.dumps({"captureData": {"endpointInput": side}, "eventMetadata": metadata, "eventVersion": "0"})


def rows(shift: float) -> str:
    return "".join(f"{number % 30},{number % 17 + shift}\n" for number in range(300))


@pytest.fixture
def captured(tmp_path: Path) -> Path:
    folder = tmp_path / "captured"
    (folder / "houses/AllTraffic").mkdir(parents=True)
    lines = [record("a/x.tar.gz", 8, rows(0.5)), record("a/x.tar.gz", 12, rows(9.5)), record("b.tar.gz", 12, rows(0.5))]
    lines.append(record("b.tar.gz", 12, "AAAA", "BASE64"))
    (folder / "houses/AllTraffic/1.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def drift(captured: Path, out: Path, *options: str) -> Result:
    done = CliRunner().invoke(app, ["drift", str(captured), "--out", str(out), *options])
    assert done.exit_code == 0, done.stderr
    return done


def told(out: Path, model: str) -> list[str]:
    found = json.loads((out / model / "constraint_violations.json").read_text())
    return [f"{one['feature_name']}: {one['constraint_check_type']}" for one in found["violations"]]


def test_a_baseline_of_a_csv_names_the_columns(captured: Path, tmp_path: Path) -> None:
    baseline, out = tmp_path / "baseline.csv", tmp_path / "out"
    baseline.write_text("rooms,size\n" + rows(0.5))
    done = drift(captured, out, "--baseline", str(baseline), "--since", "2026-11-29T10:00:00Z")
    assert told(out, "a%2Fx.tar.gz") == ["size: baseline_drift_check"]
    assert told(out, "b.tar.gz") == []
    assert json.loads((out / "b.tar.gz/statistics.json").read_text())["dataset"]["item_count"] == 300
    assert "b.tar.gz: 1 record without rows of CSV or JSON left out" in done.stderr


def test_records_before_a_time_are_the_baseline_of_their_model(captured: Path, tmp_path: Path) -> None:
    done = drift(captured, tmp_path / "out", "--since", "2026-11-29T10:00")
    assert told(tmp_path / "out", "a%2Fx.tar.gz") == ["_c1: baseline_drift_check"]
    assert "no baseline: these are one" in done.stdout  # of b, which has no earlier records


def test_an_earlier_run_is_a_baseline(captured: Path, tmp_path: Path) -> None:
    drift(captured, tmp_path / "first", "--until", "2026-11-29T10:00:00Z")
    assert not (tmp_path / "first/a%2Fx.tar.gz/constraint_violations.json").exists()
    drift(captured, tmp_path / "out", "--baseline", str(tmp_path / "first"), "--since", "2026-11-29T10:00:00Z")
    assert told(tmp_path / "out", "a%2Fx.tar.gz") == ["_c1: baseline_drift_check"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--since", "yesterday"), "'yesterday' is no time"),
        (("--until", "2020-01-01T00:00:00Z"), "no captured rows of this time"),
        (("--baseline", "nowhere.csv"), "there is no such file or folder"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    captured: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    done = CliRunner().invoke(app, ["drift", str(captured), "--out", str(tmp_path / "out"), *options])
    assert (done.exit_code > 0, said in done.stderr) == (True, True)


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"captureData": {}}\n')
    done = CliRunner().invoke(app, ["drift", str(tmp_path), "--out", str(tmp_path / "out")])
    assert "bad.jsonl, line 1 is no captured record" in done.stderr
