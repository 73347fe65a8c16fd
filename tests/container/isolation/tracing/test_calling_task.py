"""A file that a task names is opened although the kernel says now and then that it should be tried again."""

import errno
import os
from pathlib import Path

import pytest

from torpor_container.isolation.kernel import syscall
from torpor_container.isolation.tracing import calling_task
from torpor_container.isolation.tracing.calling_task import IN_ROOT, TRIES


class Disturbed:
    """openat2(2) on a machine on which this many looks meet a rename."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self, number: int, *arguments: object) -> int:
        if self.left > 0:
            self.left -= 1
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return syscall(number, *arguments)


def opened_inode(folder: Path) -> int:
    top = os.open(folder, os.O_PATH)
    try:
        file = calling_task._open_in(top, b"file", 0, IN_ROOT)
        try:
            return os.stat(file).st_ino
        finally:
            os.close(file)
    finally:
        os.close(top)


def test_a_look_that_meets_renames_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(calling_task, "syscall", Disturbed(TRIES - 1))
    assert opened_inode(tmp_path) == (tmp_path / "file").stat().st_ino


def test_looks_end_on_a_machine_that_always_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(calling_task, "syscall", Disturbed(TRIES))
    with pytest.raises(BlockingIOError):
        opened_inode(tmp_path)
