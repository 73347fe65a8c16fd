"""The messages by which a process gives a connection to another: its socket, its ends, and what was read of it."""

import asyncio
import json
import os
import socket
from contextlib import closing
from typing import Any, NamedTuple

MESSAGE_MAX_BYTES = 1024
Address = tuple[str, int] | None
"""None over a Unix socket."""


class Ends(NamedTuple):
    """What a connection is known by: its client's address, the server's own, and its version of TLS, if it has one."""

    peer: Address
    own: Address
    tls: str | None

    @classmethod
    def of(cls, transport: asyncio.BaseTransport) -> "Ends":
        secured = transport.get_extra_info("ssl_object")
        peer, own = (_address(transport.get_extra_info(name)) for name in ("peername", "sockname"))
        return cls(peer, own, None if secured is None else secured.version())


class Received(NamedTuple):
    """A connection that another process has given."""

    client: socket.socket
    ends: Ends
    read: bytes


def send(channel: socket.socket, client: int, ends: Ends, read: bytes, flags: int = 0) -> None:
    """What was read goes in a file of memory: it may be longer than a message. Raises OSError."""
    with open(os.memfd_create("torpor-read"), "wb") as file:
        file.write(read)
        file.flush()
        socket.send_fds(channel, [json.dumps(ends).encode()], [client, file.fileno()], flags)


def received(channel: socket.socket) -> Received:
    """The next one. Raises BlockingIOError where none waits, and OSError where this process has no descriptor left."""
    flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
    message, descriptors, _, _ = socket.recv_fds(channel, MESSAGE_MAX_BYTES, 2, flags)
    if len(descriptors) != 2:
        for one in descriptors:
            os.close(one)
        raise OSError("no descriptor is left for it")
    client, read = descriptors
    with open(read, "rb") as file:
        file.seek(0)
        peer, own, tls = json.loads(message)
        return Received(socket.socket(fileno=client), Ends(_listed(peer), _listed(own), tls), file.read())


def connected(channel: int) -> socket.socket:
    """A new connection from this process to the one that takes them, by no address. For any thread. Raises OSError."""
    here, there = socket.socketpair()
    with closing(there), socket.socket(fileno=os.dup(channel)) as own:
        try:
            send(own, there.fileno(), Ends(None, None, None), b"")
        except OSError:
            here.close()
            raise
    return here


def _address(found: Any) -> Address:
    return found[:2] if isinstance(found, tuple) else None


def _listed(found: list[Any] | None) -> Address:
    return None if found is None else (found[0], found[1])
