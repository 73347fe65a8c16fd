"""`torpor.local` in tests: its endpoint's process is a fork of one that has imported an endpoint, and starts no zygote
on a guess, which takes two seconds of a processor."""

import json
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.forked_starts.starting import Started, start
from torpor.hosting import endpoint_process
from torpor.hosting.endpoint_process import NO_GUESS_S
from torpor_endpoint.options import Options


@contextmanager
def forked_endpoints() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(endpoint_process, "_spawn", _spawn)
        yield


def _spawn(listener: socket.socket, arguments: Sequence[str], log: Path) -> Started:
    options, *others = arguments
    asked = json.loads(options)
    if asked["warm_idle_s"] == Options.warm_idle_s:
        asked["warm_idle_s"] = NO_GUESS_S
    command = [sys.executable, "-m", "torpor.hosting.attached_endpoint", json.dumps(asked), *others]
    with log.open("ab") as output:
        return start(command, output, pass_fds=[listener.fileno()], lifeline=True)
