"""The suite on other Pythons: which interpreter is taken, and what is said of one that is not there."""

import sys
from pathlib import Path

import pytest

from tests import pythons

OURS = ".".join(map(str, sys.version_info[:2]))


def command(folder: Path, name: str, program: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the PATH; pyenv has nothing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_command_that_starts_another_python_is_passed_over(path: Path) -> None:
    command(path, f"python{OURS}", "echo 3.1")
    command(path, "uv", f'[ "$*" = "python find {OURS}" ] && echo {sys.executable}')
    assert pythons.interpreter(OURS) == sys.executable


def test_a_python_that_is_not_there_is_said_and_fails_nothing(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pythons.main(["3.99"]) == 0
    assert capsys.readouterr().out == (
        "Python 3.99: not run: no python3.99 is on the PATH, and neither pyenv nor uv has one\n"
    )


@pytest.mark.parametrize(("make", "failed"), [("echo '7 passed in 1s'", 0), ("echo '1 failed, 6 passed'; exit 2", 1)])
def test_the_suite_s_last_line_is_said(path: Path, capsys: pytest.CaptureFixture[str], make: str, failed: int) -> None:
    command(path, f"python{OURS}", f"echo {OURS}")
    command(path, "make", f'[ "$1" = setup ] || {{ {make}; }}')
    assert pythons.main([OURS]) == failed
    assert capsys.readouterr().out.splitlines()[-1].endswith(("7 passed in 1s", "1 failed, 6 passed"))


def test_the_reason_of_an_environment_that_cannot_be_built_is_pips(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(path, f"python{OURS}", f"echo {OURS}")
    command(path, "make", "echo 'ERROR: No matching distribution found for a==1'; echo 'make: Error 1'; exit 2")
    assert pythons.main([OURS]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"Python {OURS}: not run: the environment cannot be built: ERROR: No matching distribution found for a==1"
    )
