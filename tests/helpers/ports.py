"""Ports for servers that must be given one."""

import socket
from contextlib import ExitStack


def free_port() -> int:
    """One of this machine that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def free_ports(count: int) -> int:
    """The first of so many ports in a row that were free a moment ago."""
    while True:
        first = free_port()
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
            except (OSError, OverflowError):
                continue
            return first
