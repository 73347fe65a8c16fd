"""The bounds of a process's cores, as two variables say them."""

import os
from pathlib import Path

from torpor_container.processes import process_tree as cores


def test_bounds_that_the_machine_cannot_keep_bound_nothing(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    cores.confine_to_cores({cores.PROCESSORS: "99999", cores.GROUP: str(tmp_path / "gone")})
    assert os.sched_getaffinity(0) == before


def test_a_process_enters_its_group(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").touch()
    cores.confine_to_cores({cores.GROUP: str(tmp_path)})
    assert (tmp_path / "cgroup.procs").read_text() == "0"
    assert cores.own_bounds({cores.GROUP: "g", "PATH": "/bin"}) == {cores.GROUP: "g"}
