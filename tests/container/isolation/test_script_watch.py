"""The watch of a script goes on, whatever it cannot read for a moment."""

import errno
import os
import socket
import threading
from pathlib import Path

from torpor_container.isolation.box import NOT_TRACED, ScriptBox
from torpor_container.isolation.script_watch import ScriptWatch
from torpor_container.isolation.views import COUNTED
from torpor_container.isolation.written import Written


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
    folder = str(path)
    return ScriptBox(
        folder, folder, "", (), (), (), "refuse", (), 1, 1 << 20, 9, 1 << 20, 0, filters=False, mounts=False
    )


def test_a_look_that_fails_does_not_end_the_watch(tmp_path: Path) -> None:
    watch = FailingLooks(box(tmp_path))
    ours, theirs = socket.socketpair()
    theirs.close()
    watch.begin(os.getpid(), ours)
    assert watch.ended.wait(60.0)


def test_the_watch_lets_a_script_begin_once_it_has_counted_what_is_there_first(tmp_path: Path) -> None:
    (tmp_path / COUNTED[0]).mkdir()
    (tmp_path / COUNTED[0] / "first").touch()
    watch = ScriptWatch(box(tmp_path), look_s=60.0)
    ours, theirs = socket.socketpair()
    with theirs:
        watch.begin(os.getpid(), ours)
        socket.send_fds(theirs, [b"[]\n"], [])
        assert theirs.recv(1) == NOT_TRACED
        assert watch.began == Written(1, 0)
