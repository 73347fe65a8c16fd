"""A data log has the time and the request of each line, and a bound."""

from pathlib import Path

import pytest

from torpor_endpoint.services.jobs import data_log
from torpor_endpoint.services.jobs.data_log import DataLog


def test_each_line_has_the_time_and_what_it_is_about(tmp_path: Path) -> None:
    noted: list[Path] = []
    log = DataLog(tmp_path / "job", lambda: 1.5, noted.append)
    log.write("bucket/key: ClientError: 413")
    log.write("a", "b", about="id-1")
    begin = "1970-01-01T00:00:01.500:[sagemaker logs]"
    path = tmp_path / "job" / "data-log.log"
    assert path.read_text() == f"{begin}: bucket/key: ClientError: 413\n{begin} [id-1] a\n{begin} [id-1] b\n"
    assert noted == [path, path]


def test_a_log_that_is_too_large_starts_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_log, "BYTES_MAX", 100)
    log = DataLog(tmp_path, lambda: 0.0, lambda path: None)
    for number in range(20):
        log.write(f"line {number}")
    lines = (tmp_path / "data-log.log").read_text().splitlines()
    assert 1 <= len(lines) <= 3
    assert lines[-1].endswith("line 19")
