"""A server's end as a client sees it when its process is killed: at once, with no turn of an event loop in between."""

import asyncio
import os
import socket


def hang_up(transport: asyncio.BaseTransport) -> None:
    with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as same:
        same.shutdown(socket.SHUT_RDWR)
