"""Profiles in CSV files: the bytes that instances share are a part of a model's memory."""

from pathlib import Path

import pytest

from torpor.simulator.fitting import profile_files
from torpor.simulator.fitting.profile_files import read_profiles
from torpor.workloads.profile import ModelProfile
from torpor.workloads.trace import BadTrace


def read(folder: Path, text: str) -> dict[str, ModelProfile]:
    file = folder / "profiles.csv"
    file.write_text(text)
    return read_profiles(file)


def test_shared_bytes_are_read_and_none_by_default(tmp_path: Path) -> None:
    found = read(tmp_path, "model,memory_bytes,mapped_bytes\na,100,80\nb,100,\n")
    assert [(one.memory_bytes, one.mapped_bytes) for one in found.values()] == [(100, 80), (100, 0)]
    assert [found["a"].charged_bytes(holders) for holders in (1, 4)] == [100, 40]
    assert found["b"].charged_bytes(4) == 100
    profile_files.write(found, tmp_path / "again.csv")
    assert read_profiles(tmp_path / "again.csv") == found


@pytest.mark.parametrize(
    ("mapped", "why"),
    [("101", "mapped_bytes is more than memory_bytes"), ("-1", "mapped_bytes"), ("0.5", "not a whole number of bytes")],
)
def test_a_share_that_cannot_be_is_refused(tmp_path: Path, mapped: str, why: str) -> None:
    with pytest.raises(BadTrace, match=why):
        read(tmp_path, f"model,memory_bytes,mapped_bytes\na,100,{mapped}\n")


def test_the_workers_of_a_script_are_read_and_none_by_default(tmp_path: Path) -> None:
    found = read(tmp_path, "model,memory_bytes,workers\na,100,2\nb,100,\n")
    assert [one.workers for one in found.values()] == [2, 0]
    profile_files.write(found, tmp_path / "again.csv")
    assert read_profiles(tmp_path / "again.csv") == found


@pytest.mark.parametrize("workers", ["-1", "0.5", "many"])
def test_workers_that_cannot_be_are_refused(tmp_path: Path, workers: str) -> None:
    with pytest.raises(BadTrace, match="row 1: workers"):
        read(tmp_path, f"model,memory_bytes,workers\na,100,{workers}\n")


def test_what_a_further_request_takes_is_read_and_nothing_by_default(tmp_path: Path) -> None:
    found = read(tmp_path, "model,memory_bytes,further_s\na,100,0.002\nb,100,\nc,100,0\n")
    assert [one.further_s for one in found.values()] == [0.002, None, 0.0]
    profile_files.write(found, tmp_path / "again.csv")
    assert read_profiles(tmp_path / "again.csv") == found
    with pytest.raises(BadTrace, match="row 1: further_s"):
        read(tmp_path, "model,memory_bytes,further_s\na,100,-1\n")
