"""A lifeline leaves nothing of its program, however its owner ends."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.processes import gone, marked, stop
from tests.helpers.waiting import soon
from torpor_container.processes.lifeline import COMMAND, Program

WAITS = "import time; print('begun', flush=True); time.sleep(600)"
DAEMON = f"import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True); {WAITS}"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}"


class Owned:
    """A program below a lifeline, whose owner is this test."""

    def __init__(self, folder: Path, program: str) -> None:
        self.output, self.mark = folder / "output", f"LIFELINE={folder}"
        self.output.touch()
        name, _, value = self.mark.partition("=")
        self.owner = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.owner.stdin is not None
        assert self.owner.stdout is not None
        self.line, self.told = self.owner.stdin, self.owner.stdout
        first = Program(
            arguments=[sys.executable, "-c", program],
            environment={name: value},
            output=str(self.output),
            descriptors=[],
        )
        self.say(json.dumps(first))
        self.pid = int(self.told.readline().split()[1])
        assert soon(lambda: "begun" in self.output.read_text())

    def say(self, line: str) -> None:
        self.line.write(line.encode() + b"\n")
        self.line.flush()

    def end(self) -> str:
        """What the lifeline says at its end. Nothing of the program is left by then."""
        ended = self.told.readline().decode().strip()
        assert marked(self.mark) == []
        return ended


@contextmanager
def owned(folder: Path, program: str) -> Iterator[Owned]:
    one = Owned(folder, program)
    try:
        yield one
    finally:
        one.line.close()
        one.told.close()
        one.owner.wait()
    assert gone(one.pid)


@pytest.mark.parametrize("program", [WAITS, DAEMON, STUBBORN])
def test_the_end_of_the_owner_is_the_end_of_all(tmp_path: Path, program: str) -> None:
    with owned(tmp_path, program) as one:
        one.line.close()
        assert one.end() == f"ended {-signal.SIGKILL if program == STUBBORN else -signal.SIGTERM}"


def test_a_program_that_does_not_end_within_its_grace_is_killed(tmp_path: Path) -> None:
    with owned(tmp_path, STUBBORN) as one:
        one.say("0.1")
        assert one.end() == "ended -9"


def test_a_stopped_program_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    with owned(tmp_path, WAITS) as one:
        stop(one.pid)
        one.say("600")
        assert one.end() == "ended -15"


def test_the_exit_code_of_a_program_is_told(tmp_path: Path) -> None:
    with owned(tmp_path, "print('begun', flush=True); raise SystemExit(7)") as one:
        assert one.end() == "ended 7"
