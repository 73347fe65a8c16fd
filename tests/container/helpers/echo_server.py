"""A server for tests, `python echo_server.py FD OPTIONS`: an application that answers with what it received.

Options are ServerOptions' in JSON, with those of ClientTimeouts and the two files of TLS one by one, and
the secret in hexadecimal digits, and for `peers` the text of a credential.
"""

import asyncio
import gc
import json
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from starlette.types import Receive, Scope, Send

from torpor_container.core.client_timeouts import ClientTimeouts
from torpor_container.http.exchange import TakeInline, Tell
from torpor_container.http.server import ServerOptions, TlsFiles
from torpor_container.http.worker import serve_alone
from torpor_container.transport.frames import BODY_MAX_BYTES, HEAD_MAX_BYTES, Header
from torpor_container.transport.peers.credential import PeerCredential
from torpor_container.transport.peers.peer_tls import PeerTls

ODD: dict[str, tuple[int, list[tuple[bytes, bytes]], bytes]] = {
    "/empty/invocations": (204, [(b"content-length", b"4")], b"body"),
    "/split/invocations": (200, [(b"x-one", b"1\r\nx-two: 2"), (b"content-length", b"0")], b""),
}


class Told:
    """Echoes; takes up `/now/invocations`, `/busy/invocations` and `/soon/invocations` at once, and fails where the
    path says so.

    `/kept/invocations` says how many tasks are over and still kept by something. The
    body of a framed request says what to do.
    """

    framed = b"/framed/invocations"

    def __init__(self) -> None:
        self.left = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        asked = body.decode("latin-1") if scope["path"] == "/framed/invocations" else ""
        if scope["path"] == "/wait/invocations" or asked == "wait":
            message = await receive()  # first: others count while this one waits
            self.left += message["type"] == "http.disconnect"
            return
        if scope["path"] == "/raise/invocations" or asked == "raise":
            raise RuntimeError("as it was told")
        if asked == "cancelled":
            raise asyncio.CancelledError
        odd = ODD.get(f"/{asked}/invocations") or ODD.get(scope["path"])
        status, headers, answer = odd or self.echo(scope, body)
        headers = headers if odd else [*headers, (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer[:5], "more_body": True})
        await send({"type": "http.response.body", "body": answer[5:]})

    def inline(self, scope: Scope) -> TakeInline:
        return self.take_inline

    def take_inline(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        match f"/{body.decode()}/invocations" if scope["path"] == "/framed/invocations" else scope["path"]:
            case "/kept/invocations":
                gc.collect()
                kept = sum(type(one) is asyncio.Task and one.done() for one in gc.get_objects())
                tell(200, [], str(kept).encode())
            case "/broken/invocations":
                raise RuntimeError("as it was told")
            case "/large/invocations":
                tell(200, [], bytes(BODY_MAX_BYTES + 1))
            case "/headed/invocations":
                tell(200, [(b"x-one", b"1" * HEAD_MAX_BYTES)], b"")
            case "/now/invocations":
                tell(*self.echo(scope, body, b"inline"))
            case "/busy/invocations":
                time.sleep(0.005)
                tell(*self.echo(scope, body, b"inline"))
            case "/soon/invocations":
                asyncio.get_running_loop().call_later(0.01, tell, *self.echo(scope, body, b"inline"))
            case "/later/invocations":
                asyncio.get_running_loop().call_later(0.5, tell, *self.echo(scope, body, b"inline"))
            case _:
                return False
        return True

    def echo(self, scope: Scope, body: bytes, way: bytes = b"asgi") -> tuple[int, list[Header], bytes]:
        headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]]
        told = {name: scope[name] for name in ("method", "path", "http_version")}
        told |= {"scheme": scope["scheme"]}
        told |= {"raw": scope["raw_path"].decode(), "query": scope["query_string"].decode(), "left": self.left}
        answer = json.dumps({**told, "headers": headers, "body": body.decode("latin-1")}).encode()
        return 200, [(b"x-way", way)], answer


class CertifiedTold(Told):
    """The same, at the port of a control whose deployment has certificates."""

    def __init__(self, peers: PeerTls) -> None:
        super().__init__()
        self.peers = peers


async def lifespan(receive: Receive, send: Send) -> None:
    for moment in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{moment}.complete"})


if __name__ == "__main__":
    listener, options = socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2])
    sys.argv = sys.argv[:1]
    times = {name: options.pop(name) for name in ("head_s", "body_s", "slow_s", "least_bytes_per_s") if name in options}
    if files := options.pop("tls", None):
        options["tls"] = TlsFiles(*map(Path, files))
    if secret := options.pop("secret", None):
        options["secret"] = bytes.fromhex(secret)
    if credential := options.pop("peers", None):
        options["peers"] = PeerTls(PeerCredential.read(credential))
    app: Callable[[], Told] = Told
    if credential := options.pop("control", None):
        app = partial(CertifiedTold, PeerTls(PeerCredential.read(credential)))
    told = {"log_level": "critical", **options}
    serve_alone(app, listener, ServerOptions(**told, patience=ClientTimeouts(**times)))
