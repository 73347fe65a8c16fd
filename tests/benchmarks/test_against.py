"""The other revision of `python -m benchmarks --against REV`."""

import subprocess
from pathlib import Path

import pytest

from benchmarks.against import ROOT, interpreter_of

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="it is no checkout")


def test_its_interpreter_has_that_revisions_packages_and_this_environments_libraries(tmp_path: Path) -> None:
    code = "import numpy, torpor_container, torpor_endpoint; print(torpor_container.__file__, torpor_endpoint.__file__)"
    with interpreter_of("HEAD", tmp_path) as python:
        asked = subprocess.run([python, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert [Path(path).is_relative_to(tmp_path / "checkout") for path in asked.stdout.split()] == [True, True]
    assert not (tmp_path / "checkout").exists()


def test_a_revision_that_is_not_there_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError), interpreter_of("no-such-revision", tmp_path):
        raise AssertionError("there is none")
    assert list(tmp_path.iterdir()) == []
