"""The box of a user who is not root: the tests of this room, run as another user."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.helpers.ordinary_user import ROOT, USER, as_ordinary_user

ROOM = Path(__file__).parent


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("test_box.py", "tracing", "test_own_view.py"), id="what it may not"),
        pytest.param(("test_honest_scripts.py",), id="what it may", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.thorough
@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run as an ordinary user anyway")
def test_the_box_holds_a_user_who_is_not_root(names: tuple[str, ...]) -> None:
    tests = [str(ROOM / name) for name in names]
    with TemporaryDirectory() as folder:
        shutil.chown(folder, USER, USER)
        pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/t"]
        done = subprocess.run(
            as_ordinary_user(*pytest_, *tests),
            env={**os.environ, "HOME": folder, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    assert (done.returncode, done.stdout[-3000:] if done.returncode else "") == (0, "")
