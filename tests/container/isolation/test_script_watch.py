"""The watch of a script: it goes on, whatever it cannot read for a moment, and kills nothing but the script it watches.

Each test has a process to be watched: a watch that is given the tests' own would kill them in the end.
"""

import errno
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.waiting import soon
from torpor_container.isolation.box import NOT_TRACED, ScriptBox
from torpor_container.isolation.script_watch import MADE_TOO_MANY, ScriptWatch
from torpor_container.isolation.views import COUNTED
from torpor_container.isolation.written import Written

FILES_MAX = 9
WITHOUT_LIMIT = 1 << 50


class FailingLooks(ScriptWatch):
    """Its first look finds no descriptor left, and its second one ends it."""

    def __init__(self, box: ScriptBox) -> None:
        super().__init__(box, look_s=0.001)
        self.looks = 0
        self.ended = threading.Event()

    def _look(self) -> None:
        self.looks += 1
        if self.looks == 1:
            raise OSError(errno.EMFILE, "Too many open files")
        self.verdict = 0
        self.ended.set()


def box(path: Path) -> ScriptBox:
    """It limits files alone: the watch counts the memory of all processes below the tests."""
    folder = str(path)
    limits = (1, WITHOUT_LIMIT, FILES_MAX, WITHOUT_LIMIT, 0)
    return ScriptBox(folder, folder, "", (), (), (), "refuse", (), *limits, filters=False, mounts=False)


@pytest.fixture
def script() -> Iterator["subprocess.Popen[bytes]"]:
    """It works when it is written to: a watch does not look again at one that has done nothing."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0) as process:
        yield process
        process.kill()


def began(watch: ScriptWatch, script: "subprocess.Popen[bytes]") -> None:
    """The watch has counted what was there first."""
    ours, theirs = socket.socketpair()
    with theirs:
        watch.begin(script.pid, ours)
        socket.send_fds(theirs, [b"[]\n"], [])
        assert theirs.recv(1) == NOT_TRACED


def make_files(path: Path, script: "subprocess.Popen[bytes]") -> None:
    (path / COUNTED[0]).mkdir()
    for place in range(FILES_MAX + 1):
        (path / COUNTED[0] / str(place)).touch()
    assert script.stdin is not None
    script.stdin.write(b"work")


def test_a_look_that_fails_does_not_end_the_watch(tmp_path: Path, script: "subprocess.Popen[bytes]") -> None:
    watch = FailingLooks(box(tmp_path))
    began(watch, script)
    assert watch.ended.wait(60.0)


def test_the_watch_lets_a_script_begin_once_it_has_counted_what_is_there_first(
    tmp_path: Path, script: "subprocess.Popen[bytes]"
) -> None:
    (tmp_path / COUNTED[0]).mkdir()
    (tmp_path / COUNTED[0] / "first").touch()
    watch = ScriptWatch(box(tmp_path), look_s=60.0)
    began(watch, script)
    watch.end()
    assert watch.began == Written(1, 0)


def test_a_script_that_makes_too_many_files_is_killed(tmp_path: Path, script: "subprocess.Popen[bytes]") -> None:
    watch = ScriptWatch(box(tmp_path), look_s=0.001)
    began(watch, script)
    make_files(tmp_path, script)
    assert (script.wait(60.0), watch.verdict) == (-signal.SIGKILL, MADE_TOO_MANY)


def test_a_watch_that_has_ended_kills_nobody_and_leaves_no_thread(
    tmp_path: Path, script: "subprocess.Popen[bytes]"
) -> None:
    threads = threading.active_count()
    watch = ScriptWatch(box(tmp_path), look_s=0.001)
    began(watch, script)
    watch.end()
    make_files(tmp_path, script)
    assert soon(lambda: threading.active_count() == threads)
    assert (script.poll(), watch.verdict) == (None, None)
