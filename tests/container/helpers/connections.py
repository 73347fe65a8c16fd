"""Closes a server's connection at once, as the death of its process does, without a turn of the event loop."""

import asyncio
import os
import socket


def hang_up(transport: asyncio.BaseTransport) -> None:
    with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as same:
        same.shutdown(socket.SHUT_RDWR)
