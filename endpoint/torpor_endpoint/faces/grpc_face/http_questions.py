"""Asks the endpoint's own HTTP application, as a client of the protocol over REST does: one door, one face, one passage
for both.

A call goes on when its client has left or its deadline has passed, as an HTTP request does: what it loads is loaded.
"""

import asyncio
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from torpor_account.aws.wire.asgi import App, Message, Scope
from torpor_endpoint.runtime.face_notes import ASKED_BY

FACE_NAME = "grpc"
DROPPED = frozenset(("te", "host", "connection"))
"""The metadata that are no headers of the request over REST."""
DROPPED_BEGINNINGS = ("grpc-", ":", "content-", "transfer-", "inference-header-")
"""How the names of others begin."""


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    body: bytes


class HttpQuestions:
    """`secured`: callers come by TLS."""

    def __init__(self, app: App, secured: bool) -> None:
        self._app = app
        self._scheme = "https" if secured else "http"
        self._going: set[asyncio.Task[HttpAnswer]] = set()

    async def ask(
        self, context: Any, method: str, path: str, body: bytes = b"", headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> HttpAnswer:
        """`context` is that of the call: its metadata are the request's headers, and its peer is the client."""
        own = [(b"host", b"localhost"), (b"content-length", b"%d" % len(body)), *headers]
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "2",
            "method": method,
            "scheme": self._scheme,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [*own, *_headers(context.invocation_metadata())],
            "client": client_of(context.peer()),
            "server": None,
            ASKED_BY: FACE_NAME,
        }
        task = asyncio.create_task(self._answer(scope, body))
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        return await asyncio.shield(task)

    async def _answer(self, scope: Scope, body: bytes) -> HttpAnswer:
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        never = asyncio.Event()
        status, headers, chunks = 500, {}, []

        async def receive() -> Message:
            if whole:
                return whole.pop()
            await never.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status, headers = message["status"], dict(message["headers"])
            else:
                chunks.append(message.get("body", b""))

        await self._app(scope, receive, send)
        return HttpAnswer(status, headers, b"".join(chunks))


def model_path(model: str, version: str, verb: str = "") -> str:
    within = f"/versions/{quote(version, safe='')}" if version else ""
    return f"/v2/models/{quote(model, safe='')}{within}{verb}"


def client_of(peer: str) -> tuple[str, int] | None:
    """The address and port of `ipv4:127.0.0.1:5000` or `ipv6:%5B::1%5D:5000`."""
    kind, _, address = unquote(peer).partition(":")
    host, _, port = address.rpartition(":")
    return (host.strip("[]"), int(port)) if kind in ("ipv4", "ipv6") and port.isdigit() else None


def _headers(metadata: Any) -> list[tuple[bytes, bytes]]:
    pairs = ((name.lower(), value) for name, value in metadata or ())
    return [
        (name.encode(), value.encode() if isinstance(value, str) else value)
        for name, value in pairs
        if name not in DROPPED and not name.startswith(DROPPED_BEGINNINGS) and not name.endswith("-bin")
    ]
