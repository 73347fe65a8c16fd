"""Ports for servers that must be given one."""

import atexit
import os
import socket
from contextlib import suppress
from itertools import count

from torpor_container.adapter.port_blocks import BLOCKS

FIRST, LAST = 10_000, BLOCKS.start
"""Below the blocks for containers, and those that the system gives to connections and to listeners on port 0: none of
them takes one meanwhile."""

_reserved: list[socket.socket] = []
_next = count(os.getpid())


def free_port() -> int:
    """One of this machine that is free, and that no other test is given while this process lives."""
    return free_ports(1)


def free_ports(number: int) -> int:
    """The first of so many such ports in a row."""
    while True:
        first = FIRST + next(_next) * number % (LAST - FIRST - number)
        if all(map(_reserve, range(first, first + number))):
            return first


def _reserve(port: int) -> bool:
    """Reserve a port by a name that the kernel knows once, and frees with the process."""
    mark = socket.socket(socket.AF_UNIX)
    with suppress(OSError):
        mark.bind(f"\0torpor-tests-port-{port}")
        _reserved.append(mark)
        with socket.create_server(("127.0.0.1", port)):
            return True
    if mark not in _reserved:
        mark.close()
    return False


@atexit.register
def _free_all() -> None:
    for mark in _reserved:
        mark.close()
