"""The processes that serve one port, seen from outside: how many connections each has, and who has accepted which."""

import os
import re
import socket
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.helpers.processes import children
from tests.helpers.waiting import soon

BOARD = "/memfd:torpor-port"
PLACE = re.compile(rb"--shared-port=[\d,]*,(\d+)\0")


def connections(live: LiveEndpoint) -> list[int | None]:
    """How many connections each process has, the control first; None for one that does not accept, or not yet."""
    (control,) = live.worker_pids()
    for entry in Path(f"/proc/{control}/fd").iterdir():
        with suppress(FileNotFoundError):
            if os.readlink(entry).startswith(BOARD):
                return [number - 1 if number else None for number in array("I", entry.read_bytes())]
    return [None]


def all_accept(live: LiveEndpoint) -> bool:
    """Whether the routers all do, soon."""
    return soon(lambda: len(live.worker_pids()) == 1 and None not in connections(live), within_s=120)


def routers(live: LiveEndpoint) -> dict[int, int]:
    """The processes that `--routers` has started, by their places. The child of each routes."""
    (control,) = live.worker_pids()
    found = {}
    for pid in children(control):
        if place := PLACE.search(Path(f"/proc/{pid}/cmdline").read_bytes()):
            found[int(place[1])] = pid
    return found


def holder(live: LiveEndpoint, client: socket.socket) -> int | None:
    """The place of the process that has the other end of a connection; None while nobody has accepted it."""
    inode = _inode(client)
    serving = {0: live.worker_pids()[0], **{place: children(pid)[0] for place, pid in routers(live).items()}}
    for place, pid in serving.items():
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                if os.readlink(entry) == f"socket:[{inode}]":
                    return place
    return None


@contextmanager
def held(live: LiveEndpoint, place: int, count: int = 1) -> Iterator[list[socket.socket]]:
    """So many new connections that the process at this place has accepted. While it has more than the others, these
    accept what comes."""
    parts = urlsplit(live.url)
    with ExitStack() as kept:
        found: list[socket.socket] = []
        with ExitStack() as others:
            while len(found) < count:
                one = socket.create_connection((str(parts.hostname), parts.port or 80), timeout=60)
                accepted = _accepted(live, one)
                (kept if accepted == place else others).callback(one.close)
                found += [one] if accepted == place else []
        yield found


def _accepted(live: LiveEndpoint, client: socket.socket) -> int | None:
    """The place of the process that has accepted a connection, soon."""
    found: list[int] = []

    def accepted() -> bool:
        found.extend([] if (place := holder(live, client)) is None else [place])
        return bool(found)

    return found[0] if soon(accepted) else None


def _inode(client: socket.socket) -> str:
    """Of the server's end. A connection that nobody has accepted has none."""
    own, other = (f":{client_end[1]:04X}" for client_end in (client.getsockname(), client.getpeername()))
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(other) and fields[2].endswith(own):
            return fields[9]
    return "0"
