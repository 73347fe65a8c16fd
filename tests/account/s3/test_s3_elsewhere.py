"""The S3 face where artifacts come from another S3."""

import asyncio
from typing import Any

import pytest

from torpor_account.s3.s3_elsewhere import S3Elsewhere


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("PUT", "/bucket/key"), ("DELETE", "/bucket")])
def test_every_call_is_sent_to_the_other_s3_once_its_body_is_read(method: str, path: str) -> None:
    pieces = [b"one", b"two"]
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
    asyncio.run(S3Elsewhere("https://s3.example")(scope, receive, send))
    assert messages[0]["status"] == 400
    assert b"it takes artifacts from https://s3.example." in messages[1]["body"]
    assert pieces == []
