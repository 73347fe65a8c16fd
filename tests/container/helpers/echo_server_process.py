"""The echo server in a process of its own, and a client that sends it requests byte by byte."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import IO, Any

from torpor_container.http.server import KEEP_ALIVE_S

SERVER = Path(__file__).parent / "echo_server.py"

Address = tuple[str, int]


@contextmanager
def serving(
    listener: socket.socket, keep_alive_s: int = KEEP_ALIVE_S, log: "IO[bytes] | None" = None, **options: Any
) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that serves on this socket, with these ServerOptions. It is terminated at the end, and must stop."""
    told = json.dumps({"keep_alive_s": keep_alive_s, **options})
    command = [sys.executable, str(SERVER), str(listener.fileno()), told]
    process = subprocess.Popen(command, pass_fds=[listener.fileno()], stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        assert process.wait(30) == 0


def post(path: str = "/a/invocations", body: bytes = b"1,2", *headers: str, version: str = "1.1") -> bytes:
    lines = [f"POST {path} HTTP/{version}", "Host: here", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def connected(server: Address) -> socket.socket:
    return socket.create_connection(server, timeout=60)


def answer(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    with closing(HTTPResponse(connection)) as response:
        response.begin()
        body = response.read()
        headers = {name.lower(): value for name, value in response.getheaders() if name.lower() != "date"}
        status = response.status
    return status, headers, json.loads(body) if body.startswith(b"{") else body


def whole(server: Address, data: bytes) -> tuple[int, dict[str, str], Any]:
    with closing(connected(server)) as connection:
        connection.sendall(data)
        return answer(connection)
