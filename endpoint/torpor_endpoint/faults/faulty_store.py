"""Stands before the object store, and has faults strike the reads and writes of objects.

Instances read their artifacts through it too: with faults, they do not read the store's folder in place.
"""

import asyncio
from typing import Any

from torpor_account.aws.wire.asgi import App, Message, Receive, Scope, Send
from torpor_endpoint.core.testing.fault_schedule import FaultKind, InjectedFault, Occasion
from torpor_endpoint.faults.injector import FaultInjector, of_kinds

SPOILED_ETAG = b'"spoiled-by-a-fault"'
"""No MD5 of anything: a client cannot find by it that the bytes are not the object's."""
REFUSALS = {
    # the status and S3's code of the faults that refuse a request
    FaultKind.FAILING_S3: (503, "SlowDown", "Please reduce your request rate."),
    FaultKind.SKEWED_CLOCK: (
        403,
        "RequestTimeTooSkewed",
        "The difference between the request time and the server's time is too large.",
    ),
}


class ConnectionCut(Exception):
    """The server ends the connection: the answer stays incomplete."""


class FaultyStore:
    """An ASGI application: the object store, with faults."""

    def __init__(self, store: App, injector: FaultInjector) -> None:
        self._store = store
        self._injector = injector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _key_of(scope)
        if key is None:
            await self._store(scope, receive, send)
        elif scope["method"] == "HEAD":
            spoiled = self._injector.spoils_next_read(key)
            await self._store(scope, receive, _spoiling(send) if spoiled else send)
        else:
            occasion = Occasion.READ if scope["method"] == "GET" else Occasion.TRANSFER
            await self._struck(self._injector.on(occasion, key), key, scope, receive, send)

    async def _struck(self, faults: list[InjectedFault], key: str, scope: Scope, receive: Receive, send: Send) -> None:
        for fault in faults:
            self._injector.note(fault, key)
        for fault in of_kinds(faults, FaultKind.SLOW_S3):
            await asyncio.sleep(fault.seconds or 0.0)
        for fault in of_kinds(faults, *REFUSALS):
            await _refuse(fault.kind, key, scope, receive, send)
            return
        if of_kinds(faults, FaultKind.CORRUPT_ARTIFACT):
            scope = {**scope, "headers": [one for one in scope["headers"] if one[0] != b"if-match"]}
            send = _spoiling(send, body=True)
        if of_kinds(faults, FaultKind.TRUNCATED_S3):
            send = _truncating(send)
        await self._store(scope, receive, send)


def _key_of(scope: Scope) -> str | None:
    """The key of a request that reads or writes an object itself; None for any other request."""
    query = scope.get("query_string", b"").decode("latin-1")
    if scope["method"] not in ("GET", "HEAD", "PUT") or any(word in query for word in ("acl", "tagging", "cors")):
        return None
    bucket, _, key = str(scope["path"]).lstrip("/").partition("/")
    return key if bucket and key else None


async def _refuse(kind: FaultKind, key: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with S3's error, after the body: a client may read the answer only then."""
    while scope["method"] == "PUT" and (await receive()).get("more_body", False):
        pass
    status, code, message = REFUSALS[kind]
    body = f"<Error><Code>{code}</Code><Message>{message}</Message><Resource>/{key}</Resource></Error>".encode()
    headers = [(b"content-type", b"application/xml"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _spoiling(send: Send, body: bool = False) -> Send:
    """Sends with an ETag that says nothing, and with `body` other bytes in the middle of the first piece."""
    first = True

    async def spoiled(message: Message) -> None:
        nonlocal first
        if message["type"] == "http.response.start" and message["status"] < 300:
            headers = [(name, SPOILED_ETAG if name.lower() == b"etag" else value) for name, value in message["headers"]]
            kept = [one for one in headers if not one[0].lower().startswith((b"x-amz-checksum", b"content-md5"))]
            message = {**message, "headers": kept}
        elif body and first and message.get("body"):
            first = False
            message = {**message, "body": _inverted(bytes(message["body"]))}
        await send(message)

    return spoiled


def _inverted(content: bytes) -> bytes:
    """The content with its middle half inverted. Its first quarter stays, so that its format is still recognised."""
    quarter = max(1, len(content) // 4)
    middle = bytes(255 - byte for byte in content[quarter:-quarter])
    return content[:quarter] + middle + content[len(content) - quarter :] if middle else content[::-1]


def _truncating(send: Send) -> Send:
    """Sends half of the bytes that the head announces, and then raises ConnectionCut."""
    left_bytes = 0

    async def truncated(message: Message) -> None:
        nonlocal left_bytes
        if message["type"] == "http.response.start":
            left_bytes = _length_of(message) // 2
            await send(message)
            return
        content: Any = message.get("body", b"")[:left_bytes]
        left_bytes -= len(content)
        await send({**message, "body": content, "more_body": True})
        if left_bytes <= 0:
            raise ConnectionCut("a fault of the schedule ends this connection")

    return truncated


def _length_of(start: Message) -> int:
    return next((int(value) for name, value in start["headers"] if name.lower() == b"content-length"), 0)
