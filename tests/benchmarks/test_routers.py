"""A short run of the benchmark that kills routers, the control and instances."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.thorough
def test_callers_of_two_routers_lose_nothing_but_what_was_in_a_killed_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.routers", "--short", "--results", str(tmp_path)]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
