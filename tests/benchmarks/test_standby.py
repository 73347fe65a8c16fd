"""A short run of the benchmark that kills, freezes and cuts off a control that has a standby."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.standby.drill_faults import DrillKind, kinds_of
from tests.account.helpers.postgresql_server import programs


def test_each_kind_of_fault_comes_as_often_as_the_others() -> None:
    for seed in range(20):
        kinds = kinds_of(3 * len(DrillKind), random.Random(seed))
        assert {kind: kinds.count(kind) for kind in DrillKind} == dict.fromkeys(DrillKind, 3)


@pytest.mark.thorough
def test_nothing_is_lost_or_written_late_whatever_befalls_the_control_that_serves(tmp_path: Path) -> None:
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    command = [sys.executable, "-m", "benchmarks.standby", "--short", "--results", str(tmp_path)]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
