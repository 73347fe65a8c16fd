"""The processes that serve one port, seen from outside: what each of them shows on the board."""

import os
from array import array
from pathlib import Path

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.helpers.processes import children
from tests.helpers.waiting import soon

BOARD = "/memfd:torpor-port"
ROUTER = b"torpor_endpoint.router"


def connections(live: LiveEndpoint) -> list[int | None]:
    """How many connections each process has, the control first; None for one that does not accept."""
    (control,) = live.worker_pids()
    for entry in Path(f"/proc/{control}/fd").iterdir():
        if os.readlink(entry).startswith(BOARD):
            return [number - 1 if number else None for number in array("I", entry.read_bytes())]
    raise AssertionError("this process has no board")


def all_accept(live: LiveEndpoint) -> bool:
    """Whether the routers all do, soon."""
    return soon(lambda: len(live.worker_pids()) == 1 and None not in connections(live), within_s=120)


def routers(live: LiveEndpoint) -> list[int]:
    """The processes that `--routers` has started. The child of each routes."""
    (control,) = live.worker_pids()
    return [pid for pid in children(control) if ROUTER in Path(f"/proc/{pid}/cmdline").read_bytes()]
