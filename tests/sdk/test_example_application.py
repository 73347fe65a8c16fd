"""The example in `examples/boto3-application`: its tests pass, and the steps of its workflow do what they say."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers.waiting import until

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "boto3-application"
TOOLS = Path(sys.executable).parent


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__")))


def surroundings(temporary: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "AWS_"))}
    return {**own, "TMPDIR": str(temporary), "PATH": f"{TOOLS}{os.pathsep}{own['PATH']}"}


@pytest.mark.thorough
@pytest.mark.parametrize("tests", ["-m pytest -q -p no:cacheprovider test_houses.py", "-m unittest"])
def test_its_tests_pass_and_leave_nothing(copied: Path, temporary: Path, tests: str) -> None:
    command = [sys.executable, *tests.split()]
    done = subprocess.run(command, cwd=copied, env=surroundings(temporary), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(temporary.glob("torpor-*")) == []


def test_the_application_knows_nothing_of_torpor() -> None:
    assert "torpor" not in (EXAMPLE / "houses.py").read_text().lower()


def steps(job: str) -> dict[str, str]:
    """The commands of a job of the workflow, by the names of its steps."""
    workflow: Any = yaml.safe_load((EXAMPLE / ".github/workflows/tests.yml").read_text())
    return {step["name"]: step["run"] for step in workflow["jobs"][job]["steps"] if "run" in step}


def test_the_jobs_install_what_they_run() -> None:
    for job in ("tests", "service"):
        assert "torpor[all]" in steps(job)["install"]
    assert steps("tests")["test"] == "python -m pytest"


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("curl") is None, reason="the workflow's step waits by curl")
def test_the_endpoint_in_the_background_answers_after_its_step(copied: Path, temporary: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    variables = temporary / "github.env"
    runner = {"RUNNER_TEMP": str(temporary), "GITHUB_ENV": str(variables), "TORPOR_PORT": str(port)}
    script = f'set -e\n{steps("service")["start"]}\necho "pid $!"\n'
    step = subprocess.run(
        ["bash", "-c", script],
        cwd=copied,
        env={**surroundings(temporary), **runner},
        capture_output=True,
        text=True,
        check=False,
    )
    pid = int(step.stdout.rpartition("pid ")[2])
    try:
        assert step.returncode == 0, step.stderr
        assert '"status":"ok"' in step.stdout
        led = dict(line.split("=", 1) for line in variables.read_text().splitlines())
        assert led["AWS_ENDPOINT_URL"] == f"http://127.0.0.1:{port}"
        used = subprocess.run(
            ["bash", "-e", "-c", steps("service")["use"]],
            env={**surroundings(temporary), **led},
            capture_output=True,
            text=True,
            check=False,
        )
        assert used.returncode == 0, used.stderr
        assert '"Endpoints": []' in used.stdout
    finally:
        os.kill(pid, signal.SIGTERM)
        until(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid))


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
