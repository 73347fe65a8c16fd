"""One raw call to an ASGI app, without a socket."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from torpor_account.aws.wire.asgi import App, Message


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes


def call(
    app: App, *, method: str = "POST", path: str = "/", query: str = "", headers: Mapping[str, str], body: bytes = b""
) -> Reply | None:
    """Sends the body in pieces of 1 MiB. None if the app answered nothing, or before it had read all of them."""
    pieces = [body[start : start + (1 << 20)] for start in range(0, len(body), 1 << 20)] or [b""]
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": pairs}

    async def called() -> None:
        await app(scope, receive, send)

    asyncio.run(called())
    if not sent or pieces:
        return None
    answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Reply(sent[0]["status"], answered, sent[1]["body"])
