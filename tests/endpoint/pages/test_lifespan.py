"""The endpoint's start and end as the server sees them, and its health."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from torpor_account.aws.wire.asgi import Message, Receive, Scope, Send
from torpor_endpoint.pages.lifespan import Lifespan

Life = Callable[[], AbstractAsyncContextManager[None]]


async def pages(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": f"page {scope['path']}"})


def said(life: Life, scope: Scope, *, unproven: bool = False) -> list[Message]:
    """The messages of the app to the server; the server's own messages are empty."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {}

    async def send(message: Message) -> None:
        sent.append(message)

    try:
        asyncio.run(Lifespan(life, {"status": "ok"}, pages, lambda: unproven)(scope, receive, send))
    except OSError:
        sent.append({"type": "raised"})
    return sent


@pytest.mark.parametrize(
    ("fails_at", "types"),
    [
        ("", ["lifespan.startup.complete", "lifespan.shutdown.complete"]),
        ("start", ["lifespan.startup.failed", "raised"]),
        ("end", ["lifespan.startup.complete", "lifespan.shutdown.failed", "raised"]),
    ],
)
def test_the_server_gets_the_outcome_of_start_and_end(fails_at: str, types: list[str]) -> None:
    @asynccontextmanager
    async def life() -> AsyncIterator[None]:
        if fails_at == "start":
            raise OSError("the disk is full")
        yield
        if fails_at == "end":
            raise OSError("the disk is full")

    found = said(life, {"type": "lifespan"})
    assert [message["type"] for message in found] == types
    assert all("the disk is full" in message["message"] for message in found if message["type"].endswith(".failed"))


def test_health_is_answered_here_and_every_other_page_elsewhere() -> None:
    @asynccontextmanager
    async def life() -> AsyncIterator[None]:
        yield

    scope = {"type": "http", "method": "GET", "path": "/_torpor/health"}
    start, body = said(life, scope)
    assert (start["status"], dict(start["headers"])[b"content-type"]) == (200, b"application/json")
    assert body["body"] == b'{"status":"ok"}'
    assert said(life, {**scope, "method": "HEAD"})[0] == start
    start, body = said(life, scope, unproven=True)
    assert (start["status"], body["body"]) == (503, b'{"status":"unproven"}')
    assert said(life, {**scope, "method": "POST"}) == [{"type": "page /_torpor/health"}]
    assert said(life, {**scope, "path": "/_torpor/logs"}) == [{"type": "page /_torpor/logs"}]
