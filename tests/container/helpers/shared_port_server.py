"""One of the processes that serve a port for a test, `python shared_port_server.py LISTENER OPTIONS`.

The owner answers everything, the others what is below `/both/`. Options are those of `SharedPort`, and the two files of
TLS.
"""

import json
import socket
import sys
from pathlib import Path

from starlette.types import Receive, Scope, Send

from tests.container.helpers.echo_server import lifespan
from torpor_container.http.exchange import Tell
from torpor_container.http.server import ServerOptions, TlsFiles
from torpor_container.http.sharing.shared_port import OWNER, SharedPort
from torpor_container.http.worker import serve_alone

PIECE = bytes(64 * 1024)
PIECES = 64


class Owner:
    """Says its place, and what it sees of a request. `/long` is a long answer, `/both/now/invocations` one inline."""

    def __init__(self, place: int) -> None:
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send)
            return
        size, more = 0, True
        while more:
            message = await receive()
            size, more = size + len(message.get("body", b"")), message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/both/never":
            await receive()  # until its client is gone
        for _ in range(PIECES if scope["path"].endswith("/long") else 0):
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
        await send({"type": "http.response.body", "body": self._told(scope, size)})

    def take_inline(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        if scope["path"] != "/both/now/invocations":
            return False
        told = self._told(scope, len(body))
        tell(200, [(b"content-length", b"%d" % len(told))], told)
        return True

    def _told(self, scope: Scope, body_bytes: int) -> bytes:
        told = {name: scope[name] for name in ("method", "path", "scheme", "client", "server")}
        headers = sorted((name.decode(), value.decode()) for name, value in scope["headers"])
        tls = scope.get("extensions", {}).get("tls")
        return json.dumps({**told, "place": self._place, "bytes": body_bytes, "headers": headers, "tls": tls}).encode()


class Other(Owner):
    def elsewhere(self, scope: Scope) -> bool:
        return not scope["path"].startswith("/both/")


if __name__ == "__main__":
    listener, options = socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2])
    files = options.pop("tls", None)
    tls = None if files is None else TlsFiles(*map(Path, files))
    shared = SharedPort(**options)
    app = Owner(shared.place) if shared.place == OWNER else Other(shared.place)
    serve_alone(lambda: app, listener, ServerOptions(log_level="error", graceful_s=5, shared=shared, tls=tls))
