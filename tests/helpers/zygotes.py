"""Starts a zygote for a test and ends it with its block."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

LIGHT = (sys.executable, "-P", str(Path(__file__).with_name("light_zygote.py")))
"""The command of one without frameworks. `-P`: no module of the tests has the name of one that a model imports."""


@contextmanager
def zygote(path: Path, environment: Mapping[str, str]) -> Iterator[int]:
    """The process id of a zygote that listens at `path` and has these variables. It must end once its input closes."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        command = [sys.executable, "-m", "torpor_container.processes.zygote", str(listener.fileno()), "WHOLE"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            env={**os.environ, **environment},
            start_new_session=True,
        )
    yield process.pid
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60.0) == 0
