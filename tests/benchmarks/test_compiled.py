"""The compiled simulator is measured only if it was made of the sources that are here."""

import shutil
from pathlib import Path

import pytest
from benchmarks import simulator


def test_without_one_nothing_compiled_takes_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "COMPILED", tmp_path / "nowhere")
    assert not simulator.compiled_of_these()


def test_one_of_other_sources_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "COMPILED", tmp_path)
    for package in map(simulator.ROOT.joinpath, simulator.SOURCES):
        shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    assert simulator.compiled_of_these()

    (tmp_path / "torpor" / "simulator" / "kernel.py").write_text("")
    with pytest.raises(SystemExit, match=r"sdk/torpor/simulator/kernel\.py has changed since: `make compiled` again"):
        simulator.compiled_of_these()
