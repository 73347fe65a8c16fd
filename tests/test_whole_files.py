"""A process of the tests that crashes costs one test, a failed import is an error, and the run comes to its end. What
takes long comes early.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.files_in_turn import begins
from tests.helpers.joined_messages import JoinedMessages, take_apart

CONFTEST = """
from tests.helpers import files_in_turn
from tests.helpers.whole_files import SharedRun

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        files_in_turn.register(config)
    else:
        config.pluginmanager.register(SharedRun())
"""
QUICK = """
import pytest

@pytest.mark.parametrize("n", range(5))
def test_quick(n):
    assert n != 4  # not chosen
"""
CRASHES = """
import os

def test_first():
    pass

def test_crash():
    os._exit(1)

def test_last():
    pass
"""
TEXTS = {**dict.fromkeys("acdegh", QUICK), **dict.fromkeys("bf", CRASHES), "i": "import no_such_module\n"}


@pytest.mark.thorough
def test_a_crash_and_a_failed_import_cost_one_test_each(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name, text in TEXTS.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    options = ["-q", "-n2", "-k", "not 4", "-p", "no:cacheprovider", "-p", "no:torpor", f"--rootdir={tmp_path}"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    ran = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, timeout=600)
    assert "2 failed, 28 passed, 1 error" in ran.stdout, ran.stdout
    assert ran.returncode == pytest.ExitCode.INTERRUPTED  # which `make test-failed` does not make up for


def test_what_a_test_tells_goes_with_the_begin_of_the_next_one_in_its_order() -> None:
    sent: list[Any] = []
    received: list[Any] = []
    messages = JoinedMessages(sent.append)
    told = ["workerready", "logstart", "testreport", "testreport", "logfinish", "logstart", "testreport", "finished"]
    counts = []
    for number, name in enumerate(told):
        messages.sendevent(name, place=(number,))
        counts.append(len(sent))
    for message in [*sent, "the end"]:
        take_apart(received.append, message)
    assert counts == [1, 2, 2, 2, 2, 3, 3, 4]
    assert received == [*((name, {"place": (number,)}) for number, name in enumerate(told)), "the end"]


def test_what_takes_long_begins_early() -> None:
    files = {
        "tests/sdk/test_plots.py": "import pytest",
        "tests/sdk/test_up.py": "import subprocess",
        "tests/sdk/test_demo.py": "import subprocess\n\n@pytest.mark.slow",
        "tests/test_names.py": "import ast",
    }
    ordered = sorted(files, key=lambda file: begins(file, files[file]))
    assert [Path(file).stem for file in ordered] == ["test_names", "test_demo", "test_up", "test_plots"]
