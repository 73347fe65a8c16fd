"""The latest denials are kept over a restart, in a file that does not grow without end and that only its user reads."""

from pathlib import Path

import pytest

from torpor_account.core.access.explaining.denial import Denial
from torpor_account.storage.denial_log import DenialLog

DENIED = Denial("ann", "s3:GetObject", "*", "message", "why", (), ())


def log_at(folder: Path, kept: int = 3) -> DenialLog:
    return DenialLog(folder / "denials.jsonl", lambda: 7.0, kept)


def ids(log: DenialLog) -> list[str]:
    return [one.request_id for one in log.found()]


def test_a_denial_is_found_by_its_request_after_a_restart(tmp_path: Path) -> None:
    log_at(tmp_path).add(DENIED, "r1")
    (found,) = log_at(tmp_path).found("r1")
    assert (found.caller, found.request_id, found.at_s) == ("ann", "r1", 7.0)
    assert log_at(tmp_path).found("r2") == []
    assert (tmp_path / "denials.jsonl").stat().st_mode & 0o777 == 0o600


def test_the_oldest_give_way_and_the_file_stays_small(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    for number in range(20):
        log.add(DENIED, f"r{number}")
        assert len((tmp_path / "denials.jsonl").read_text().splitlines()) <= 6
    assert ids(log) == ids(log_at(tmp_path)) == ["r19", "r18", "r17"]
    assert [one.request_id for one in log.found(limit=1)] == ["r19"]


def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path: Path) -> None:
    log_at(tmp_path).add(DENIED, "r1")
    with (tmp_path / "denials.jsonl").open("a") as file:
        file.write('{"caller": "an')
    assert ids(log_at(tmp_path)) == ["r1"]


def test_a_full_disk_leaves_the_denials_in_memory(tmp_path: Path) -> None:
    log = DenialLog(tmp_path / "none" / "denials.jsonl", lambda: 7.0)
    log.add(DENIED, "r1")
    assert ids(log) == ["r1"]


def test_a_file_that_cannot_be_read_keeps_no_endpoint_from_starting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "denials.jsonl").mkdir()
    log = log_at(tmp_path)
    assert ids(log) == []
    assert "cannot be read" in caplog.text
    log.add(DENIED, "r1")
    assert ids(log) == ["r1"]
