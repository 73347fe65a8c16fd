"""Scripts that set modes, dates, owners and attributes of what is not theirs, on a live endpoint: nothing is changed.

The data folder is not in `/tmp`, of which a script has its own: it can name each file.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, put, script
from tests.helpers.ordinary_user import USER, as_ordinary_user
from torpor_container.isolation.abilities import found

pytestmark = pytest.mark.skipif(bool(found().missing()), reason="; ".join(found().missing()))

SOURCE = """
import ctypes, json, os, subprocess
def model_fn(model_dir):
    return ctypes.CDLL(None, use_errno=True)
def called(libc, *arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
def linked(path):
    os.path.lexists("link") and os.remove("link")
    os.symlink(path, "link")
    return "link"
def through(path):
    return f"/proc/self/fd/{os.open(path, os.O_PATH)}"
def ways(libc, path):
    here = os.open(os.path.dirname(path), os.O_PATH)
    name = os.path.basename(path)
    return {
        "chmod": lambda: os.chmod(path, 0o777),
        "chmod to nothing": lambda: os.chmod(path, 0),
        "chmod by a link": lambda: os.chmod(linked(path), 0o777),
        "chmod by a descriptor": lambda: os.chmod(through(path), 0o777),
        "chmod in a folder": lambda: os.chmod(name, 0o777, dir_fd=here),
        "chmod by a program": lambda: subprocess.run(["chmod", "777", path], check=True, capture_output=True),
        "fchmodat2": lambda: called(libc, 452, here, name.encode(), 0o777, 0),
        "fchmodat2 by a descriptor": lambda: called(libc, 452, os.open(path, os.O_PATH), b"", 0o777, 0x1000),
        "utime": lambda: os.utime(path, (0, 0)),
        "utime by a link": lambda: os.utime(linked(path), (0, 0)),
        "utime of a link": lambda: os.utime(path, (0, 0), follow_symlinks=False),
        "utime in a folder": lambda: os.utime(name, (0, 0), dir_fd=here),
        "utime by a descriptor": lambda: os.utime(os.open(path, os.O_PATH), (0, 0)),
        "utime by a program": lambda: subprocess.run(["touch", "-d", "@0", path], check=True, capture_output=True),
        "chown": lambda: os.chown(path, os.getuid(), os.getgid()),
        "lchown": lambda: os.lchown(path, os.getuid(), os.getgid()),
        "setxattr": lambda: os.setxattr(path, b"user.mark", b"x"),
        "setxattr by a descriptor": lambda: os.setxattr(through(path), b"user.mark", b"x"),
        "truncate": lambda: os.truncate(path, 0),
        "remove": lambda: os.remove(path),
        "rename": lambda: os.rename(path, path + "-away"),
        "link": lambda: os.link(path, "hard"),
        "read": lambda: open(path).read(),
        "list": lambda: os.listdir(path),
        "watch": lambda: called(libc, 254, libc.inotify_init1(0), path.encode(), 0xfff),
        "write beside": lambda: open(path + "-mine", "w"),
    }
def transform_fn(libc, body, content_type, accept):
    done = []
    for path in json.loads(body):
        os.stat(path)  # it is there, and can be named
        for way, do in ways(libc, path).items():
            try:
                do()
            except (OSError, subprocess.CalledProcessError):
                continue
            done.append((way, path))
    return json.dumps(done), "application/json"
"""


USERS = ("root",)
LATER = ("an ordinary user, whole boxes", "an ordinary user", "root, whole boxes")


@pytest.fixture(
    scope="module", params=[*USERS, *(pytest.param(who, marks=pytest.mark.thorough, id=who) for who in LATER)]
)
def live(request: pytest.FixtureRequest) -> Iterator[LiveEndpoint]:
    """With access keys. As the tests' own user, who may be root, or as an ordinary one."""
    who, _, whole = request.param.partition(", ")
    if who != "root" and os.getuid():
        pytest.skip("these tests run as an ordinary user anyway")
    options = ("--auth", "--require-isolation") if whole else ("--auth",)
    launched = as_ordinary_user if who != "root" else lambda *command: [*command]
    with TemporaryDirectory(dir="/var/tmp") as folder:
        data = Path(folder) / "data"
        live = LiveEndpoint(data, *options, launched=launched)
        put(live.folder("many"), {"hostile.tar.gz": script(SOURCE), "good.tar.gz": packed({"model.json": booster()})})
        if who != "root":
            for path in [Path(folder), data, *data.rglob("*")]:
                shutil.chown(path, USER, USER)
        with live:
            live.deploy("Many", Variant({"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://many"}))
            yield live


def state(paths: list[Path]) -> dict[str, Any]:
    """What the ways change of files: modes, owners and attributes, and of files that nobody writes, dates and sizes."""
    found = {}
    for path in paths:
        status = os.stat(path)
        still = (status.st_mtime_ns, status.st_size) if path.suffix == ".gz" or path.name == "credentials" else None
        found[str(path)] = (status.st_mode, status.st_uid, status.st_gid, os.listxattr(path), still)
    return found


def test_nothing_of_the_endpoint_and_of_a_neighbour_is_changed(live: LiveEndpoint) -> None:
    def told(model: str, body: bytes, content_type: str) -> bytes:
        answer: bytes = live.invoke("Many", body, content_type, TargetModel=f"{model}.tar.gz")["Body"]
        return answer

    right = told("good", ROW, "text/csv")
    neighbour = next(path for path in live.data_dir.rglob("model.json"))
    others = [live.data_dir, live.data_dir / "credentials", live.folder("many"), live.folder("many") / "good.tar.gz"]
    others += [neighbour, neighbour.parent, live.data_dir / "torpor.sqlite", live.data_dir / "endpoint.log"]
    assert [path for path in others if not path.exists()] == []
    before = state(others)
    assert json.loads(told("hostile", json.dumps([str(path) for path in others]).encode(), "application/json")) == []
    assert state(others) == before
    assert told("good", ROW, "text/csv") == right
    assert [path for path in live.data_dir.rglob("*") if path.name.endswith(("-mine", "-away"))] == []
