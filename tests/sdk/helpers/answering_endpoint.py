"""A server that answers as an endpoint would: its health, and for the rest what a test's function says."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

HEALTH = {"status": "ok", "region": "us-east-1", "account": "123456789012"}


class Asked(NamedTuple):
    """One request. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def access_key(self) -> str:
        """The id of the key that signed it; empty if none did."""
        return self.headers.get("authorization", "").partition("Credential=")[2].partition("/")[0]

    @property
    def operation(self) -> str:
        """The operation of a JSON service."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]


class Told(NamedTuple):
    """An answer."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = {}


@contextmanager
def answering(answer: Callable[[Asked], Told], health: Mapping[str, object] | None = HEALTH) -> Iterator[str]:
    """The URL of the server, while it runs. Without `health`, the function answers for that, too."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, body)
            healthy = health is not None and self.path == "/_torpor/health"
            told = Told(body=json.dumps(health).encode()) if healthy else answer(asked)
            self.send_response(told.status)
            for name, value in {"content-length": str(len(told.body)), **told.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else told.body)

        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):  # http.server asks for `do_GET`, `do_POST` and the like
                return self.do
            raise AttributeError(name)

        def log_message(self, *what: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))  # how often it looks whether to end
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving.join()
