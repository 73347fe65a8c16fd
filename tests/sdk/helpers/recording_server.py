"""A server that gives the answers of a test, and records each request to the byte."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from socket import socket
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Thread
from typing import Any, NamedTuple

from botocore.session import Session


class Received(NamedTuple):
    """One request. Header names are in lower case; `connection` is the port that it came from."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int


class Reply(NamedTuple):
    """The bytes to send, and whether the connection is closed after them without notice."""

    raw: bytes
    hangs_up: bool = False


def reply(status: int = 200, headers: Mapping[str, str] | None = None, body: bytes = b"4.2") -> Reply:
    lines = [f"HTTP/1.1 {status} Said", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return Reply("\r\n".join([*lines, "", ""]).encode() + body)


@dataclass
class RecordingServer:
    """The replies are given in turn, and the last one ever after."""

    url: str
    replies: list[Reply]
    received: list[Received] = field(default_factory=list)
    hung_up: Event = field(default_factory=Event)

    def next_reply(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def served(*replies: Reply, tls: ssl.SSLContext | None = None) -> Iterator[RecordingServer]:
    """A site on a free port."""

    class Calls(StreamRequestHandler):
        def handle(self) -> None:
            while request := self.read():
                recording.received.append(request)
                answer = recording.next_reply()
                self.wfile.write(answer.raw)
                if answer.hangs_up:
                    return

        def read(self) -> Received | None:
            lines = list(iter(lambda: self.rfile.readline().rstrip(b"\r\n"), b""))
            if not lines:
                return None
            headers = {}
            for line in lines[1:]:
                name, _, value = line.decode("utf-8", "surrogateescape").partition(":")
                headers[name.lower()] = value.strip(" \t")  # it means nothing in HTTP
            body = self.rfile.read(int(headers["content-length"]))
            return Received(lines[0].decode().split(" ")[1], headers, body, self.client_address[1])

    class Server(ThreadingTCPServer):
        daemon_threads = True

        def get_request(self) -> tuple[socket, Any]:
            taken, address = super().get_request()
            return (tls.wrap_socket(taken, server_side=True) if tls else taken), address

        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            recording.hung_up.set()

    with Server(("127.0.0.1", 0), Calls) as server:
        scheme, host = ("https", "localhost") if tls else ("http", "127.0.0.1")
        recording = RecordingServer(f"{scheme}://{host}:{server.server_address[1]}", list(replies) or [reply()])
        serving = Thread(target=server.serve_forever, args=(0.01,))  # how often it looks whether to end
        serving.start()
        try:
            yield recording
        finally:
            server.shutdown()
            serving.join()


@cache
def session_of() -> Session:
    """A session with some credentials. One for all tests, since it keeps the files that botocore reads."""
    session = Session()
    session.set_credentials("AKIA", "secret")
    return session
