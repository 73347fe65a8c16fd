"""One request as a browser sends it, to an ASGI app without a socket."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.wire.asgi import App, Message


@dataclass(frozen=True)
class Reply:
    """`left` counts the pieces of the request's body that were not read: a sender would not hear the answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    left: int


def call(app: App, method: str, path: str, headers: Mapping[str, str], *, query: str = "", body: bytes = b"") -> Reply:
    """The body is sent in pieces of 1 MiB."""
    pieces = [body[start : start + (1 << 20)] for start in range(0, len(body), 1 << 20)]
    sent: list[Message] = []

    async def receive() -> Message:
        piece = pieces.pop(0) if pieces else b""
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": method, "headers": pairs, "query_string": query.encode()}
    scope |= {"path": path, "raw_path": path.encode()}

    async def called() -> None:
        await app(scope, receive, send)

    asyncio.run(called())
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Reply(sent[0]["status"], told, b"".join(message["body"] for message in sent[1:]), len(pieces))
