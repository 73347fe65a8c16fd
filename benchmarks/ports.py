"""Ports for servers that have to be told one, and waiting until they listen."""

import socket
import subprocess
import time

from benchmarks.client import Where

POLL_S = 0.05


class DidNotStart(Exception):
    """A server ended, or did not listen in time."""


def free_port() -> int:
    """One that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def listening(where: Where, process: "subprocess.Popen[bytes]", within_s: float = 60.0) -> None:
    """Wait until something listens on the port. Raises DidNotStart."""
    deadline_s = time.monotonic() + within_s
    while not _listens(where):
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise DidNotStart(f"{process.args!r} does not listen on {where}")
        time.sleep(POLL_S)


def _listens(where: Where) -> bool:
    with socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET) as caller:
        return caller.connect_ex(where) == 0
