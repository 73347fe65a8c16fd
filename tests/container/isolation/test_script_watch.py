"""The watch of a script goes on, whatever it cannot read for a moment."""

import errno
import os
import socket
import threading
from pathlib import Path

from torpor_container.isolation.box import ScriptBox
from torpor_container.isolation.script_watch import ScriptWatch


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


def test_a_look_that_fails_does_not_end_the_watch(tmp_path: Path) -> None:
    folder = str(tmp_path)
    watch = FailingLooks(
        ScriptBox(folder, folder, "", (), (), (), "refuse", (), 1, 1 << 20, 9, 1 << 20, 0, filters=False, mounts=False)
    )
    ours, theirs = socket.socketpair()
    theirs.close()
    watch.begin(os.getpid(), ours)
    assert watch.ended.wait(10.0)
