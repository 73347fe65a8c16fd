"""Sends bytes to a port, and reads what comes back."""

import random
import socket
from collections.abc import Sequence
from contextlib import suppress

from benchmarks.fuzzed.signed import RawRequest

PATIENCE_S = 20.0
"""The server gives up on a request that stands still; that is no hang."""


class StoodStill(Exception):
    """Nothing came back, and the connection was not closed."""


def status(address: tuple[str, int], data: bytes) -> int | None:
    """The status of the answer; None if the connection was closed without one. Raises StoodStill."""
    with socket.create_connection(address, timeout=PATIENCE_S) as connection:
        with suppress(OSError):  # it has answered before it read all
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        head = b""
        try:
            with suppress(ConnectionResetError):
                while b"\r\n" not in head and (received := connection.recv(4096)):
                    head += received
        except TimeoutError as error:
            raise StoodStill from error
    parts = head.split(b" ", 2)
    return int(parts[1]) if len(parts) > 1 and parts[0].startswith(b"HTTP/") and parts[1].isdigit() else None


def scrambled(seeds: Sequence[RawRequest], dice: random.Random) -> bytes:
    """The bytes of a request with some of them changed, lost, repeated or replaced."""
    data = bytearray(dice.choice(seeds).data())
    for _ in range(dice.randint(1, 6)):
        place = dice.randrange(len(data) + 1)
        match dice.randrange(6):
            case 0:
                data[place : place + 1] = bytes([dice.randrange(256)])
            case 1:
                del data[place : place + dice.randint(1, 40)]
            case 2:
                data[place:place] = dice.randbytes(dice.randint(1, 40))
            case 3:
                data[place:place] = data[place : place + dice.randint(1, 200)]
            case 4:
                data[place:place] = dice.choice(WORDS)
            case _:
                data = data[:place] or bytearray(b"\0")
        data = data or bytearray(b"\r\n")
    return bytes(data)


WORDS = (
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\0",
    b": ",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Expect: 100-continue\r\n",
    b"Host: a\r\nHost: b\r\n",
    b"%00",
    b"%2e%2e/",
    b"\xff\xfe",
    b"HTTP/2.0",
    b"HTTP/0.9",
    b"Upgrade: websocket\r\n",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"{",
    b"[" * 99,
    b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"X-Amz-Target: \r\n",
    b"?X-Amz-Signature=",
    b"GET / HTTP/1.1\r\n\r\n",
)
"""What parsers stumble over."""
