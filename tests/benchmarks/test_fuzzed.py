"""A short run of the requests that nobody should send."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.thorough
@pytest.mark.slow
def test_no_changed_request_is_accepted_and_no_bytes_are_a_fault_of_the_endpoints(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.fuzzed", "--signed", "400", "--bytes", "1000", "--seed", "1"]
    ended = subprocess.run(
        [*command, "--results", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
