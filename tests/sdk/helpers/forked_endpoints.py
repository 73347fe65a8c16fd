"""`torpor.local` in tests: its endpoint's process is a fork of one that has imported an endpoint."""

import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.forked_starts.starting import Started, start
from torpor.hosting import endpoint_process


@contextmanager
def forked_endpoints() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(endpoint_process, "_spawn", _spawn)
        yield


def _spawn(listener: socket.socket, arguments: Sequence[str], log: Path) -> Started:
    command = [sys.executable, "-m", "torpor.hosting.attached_endpoint", *arguments]
    with log.open("ab") as output:
        return start(command, output, pass_fds=[listener.fileno()], lifeline=True)
