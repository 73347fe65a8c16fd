"""A process's own view of the file system, as the process and as the machine see it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, json, os, sys
from pathlib import Path
from torpor_container.processes.namespaces import NoNamespace, bind_mounts
user, *targets = sys.argv[1:]
if int(user) != os.getuid():
    os.setgid(int(user))
    os.setuid(int(user))
    ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: as for a process that was started by this user
try:
    bind_mounts({target: Path(source) for target, source in (text.split("=") for text in targets)})
except NoNamespace as error:
    print(f"refused: {error}")
else:
    print(os.getcwd(), *(Path(text.split("=")[0], "told").read_text() for text in targets), os.getuid())
    print(json.dumps(os.listdir("/")))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / "told").write_text("seven")
    return made


def view(*targets: str, user: int = os.getuid(), cwd: str = "/usr") -> str:
    """The output of a fresh process that gives itself such a view."""
    command = [sys.executable, "-c", PROGRAM, str(user), *targets]
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)
    assert not ended.stderr, ended.stderr
    if "not permitted" in ended.stdout:
        pytest.skip(f"this machine allows no mount namespace: {ended.stdout}")
    return ended.stdout


@pytest.mark.parametrize("target", ["/opt/ml/model", "/not-there-at-all/ml/model", "/usr/share"])
def test_folder_is_shown_at_a_path_whether_or_not_it_exists(folder: Path, target: str) -> None:
    before = sorted(os.listdir("/"))
    line, listed = view(f"{target}={folder}").splitlines()
    assert line == f"/usr seven {os.getuid()}"
    assert set(before) <= set(json.loads(listed))  # all else is there as before
    assert sorted(os.listdir("/")) == before


def test_several_paths_are_shown_and_one_may_lie_within_another(folder: Path) -> None:
    (folder / "inner").mkdir()
    shown = view(f"/opt/ml={folder}", f"/opt/ml/inner={folder}", f"/none/such={folder}")
    assert shown.startswith("/usr seven seven seven")


def test_folder_that_the_view_covers_can_be_its_source(folder: Path) -> None:
    assert view(f"{folder.parent}={folder}").startswith("/usr seven")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_user_who_is_not_root_keeps_the_identity_in_a_namespace(folder: Path) -> None:
    for above in folder.parents[: len(folder.parents) - 2]:  # pytest makes its folders private
        above.chmod(0o755)
    assert view(f"/opt/ml/model={folder}", user=1234).startswith("/usr seven 1234")


def test_source_that_is_no_folder_is_refused_by_name(tmp_path: Path) -> None:
    assert f"No such file or directory: '{tmp_path}/none'" in view(f"/opt/ml/model={tmp_path}/none")
