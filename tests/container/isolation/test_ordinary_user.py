"""The box of a user who is not root: the tests of this room, run as another user."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

NOBODY = 65534
ROOM = Path(__file__).parent
REPOSITORY = ROOM.parents[2]


def interpreter() -> str | None:
    """A Python of this version that every user may run."""
    same = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (os.path.realpath(sys.executable), f"/usr/bin/{same}", f"/usr/local/bin/{same}"):
        folders = [str(one) for one in Path(path).parents]
        if os.path.isfile(path) and all(os.stat(one).st_mode & stat.S_IXOTH for one in (path, *folders)):
            return path
    return None


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run as an ordinary user anyway")
@pytest.mark.skipif(interpreter() is None, reason="no Python of this version that every user may run")
@pytest.mark.parametrize("tests", ["test_box.py", "tracing", "test_honest_scripts.py"])
def test_the_box_holds_a_user_who_is_not_root(tests: str) -> None:
    python = interpreter()
    assert python is not None
    with TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)
        environment = {"HOME": folder, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/t", str(ROOM / tests)],
            env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, [str(REPOSITORY), *sys.path]))},
            cwd=REPOSITORY,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
        )
    assert (done.returncode, done.stdout[-3000:] if done.returncode else "") == (0, "")
