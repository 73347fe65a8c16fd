"""Instances with bounded cores get processors, and a control group where the endpoint may make one."""

import os
import subprocess
from pathlib import Path

import pytest

from torpor_container.processes.process_tree import GROUP, PROCESSORS
from torpor_endpoint.host.processor_shares import ProcessorShares


def test_instances_share_the_processors_evenly_and_give_them_back(tmp_path: Path) -> None:
    processors = ProcessorShares([0, 1, 2, 3], tmp_path / "nowhere")
    assert processors.bounds("a", 1.5) == {PROCESSORS: "0,1"}
    assert processors.bounds("b", 2.0) == {PROCESSORS: "2,3"}
    assert processors.bounds("c", 0.25) == {PROCESSORS: "0"}
    processors.free("b")
    assert processors.bounds("d", 2.0) == {PROCESSORS: "2,3"}
    processors.free("unknown")


def test_an_instance_of_as_many_cores_as_the_machine_has_may_use_all(tmp_path: Path) -> None:
    assert ProcessorShares([0, 1], tmp_path / "nowhere").bounds("a", 8.0) == {}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes a folder finds the kernel's files in it, as in a file system of control groups."""
    make, remove = Path.mkdir, Path.rmdir

    def made(folder: Path) -> None:
        make(folder)
        (folder / "cpu.max").touch()

    def removed(folder: Path) -> None:
        (folder / "cpu.max").unlink()
        remove(folder)

    monkeypatch.setattr(Path, "mkdir", made)
    monkeypatch.setattr(Path, "rmdir", removed)


def test_a_group_bounds_a_part_of_a_processor_and_ends_with_its_instance(tmp_path: Path, kernel: None) -> None:
    processors = ProcessorShares([0, 1], tmp_path)
    group = Path(processors.bounds("a", 0.25)[GROUP])
    assert group.parent == tmp_path
    assert (group / "cpu.max").read_text() == "25000 100000"
    processors.free("a")
    assert not group.exists()


def test_an_ordinary_folder_is_no_group(tmp_path: Path) -> None:
    """In such a one anybody may write a file `cpu.max`, and nothing is bounded by it."""
    (tmp_path / "cpu").mkdir()
    assert ProcessorShares([0, 1], tmp_path).bounds("a", 0.25) == {PROCESSORS: "0"}
    assert [path.name for path in tmp_path.rglob("*")] == ["cpu"]


def test_the_groups_of_an_endpoint_that_was_killed_are_removed(tmp_path: Path, kernel: None) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left, lives = tmp_path / f"torpor-{ended.pid}-00", tmp_path / f"torpor-{os.getpid()}-00"
    left.mkdir()
    lives.mkdir()
    ProcessorShares([0, 1], tmp_path)
    assert (left.exists(), lives.exists()) == (False, True)
