"""Requests in, responses out: a bounded body read from ASGI, an answer sent to it. Nothing here knows a protocol."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from torpor_endpoint.aws.errors import AwsError, too_large, unreadable, unsupported
from torpor_endpoint.request_bodies import TooManyBodies, TooSlow, bodies_of, declared_bytes

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
Tell = Callable[[int, Headers, bytes], None]
"""Takes an answer's status, headers and body."""
AtOnce = Callable[[Scope, bytes, Tell], bool]
"""Takes up a request with its body, and tells the answer later or before it returns; or answers False, and has done
nothing: the request is to come by ASGI."""
T = TypeVar("T")

HARMLESS = MappingProxyType(
    {
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox",
        "cross-origin-resource-policy": "same-origin",
    }
)
"""Headers of whatever others may have written: a browser takes it for what its type says, runs no script in it, counts
it as of no origin, and embeds it in no page of another origin unless that page may read it."""

DRAIN_MAX_BYTES = 64 << 20
"""How much of a body that is refused is read nevertheless, so that its sender comes to read the answer."""


class Disconnected(Exception):
    """The caller went away before its request was whole."""


@dataclass(frozen=True)
class AwsRequest:
    """`headers` by lower-case name; `query` as it stood behind the question mark."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: str = ""
    body: bytes = b""


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def opened(scope: Scope) -> AwsRequest:
    """The request without its body."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    return AwsRequest(scope["method"], scope["path"], headers, scope.get("query_string", b"").decode("latin-1"))


async def body_of(request: AwsRequest, scope: Scope, receive: Receive, limit_bytes: int) -> bytes:
    """The whole body, decompressed."""
    body = await taken(scope, receive, limit_bytes)
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise unsupported(f"The content encoding {encoding} is not supported: send the body plain, or as gzip.")
    if encoding != "gzip":
        return body
    return await asyncio.to_thread(_gunzipped, body, limit_bytes)  # boto3 compresses PutMetricData above 10 KB


async def taken(scope: Scope, receive: Receive, limit_bytes: int) -> bytes:
    """The body as it came. One that is too large is read to its end too, within reason: else the connection breaks."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > limit_bytes:
            raise too_large(limit_bytes)
        return body
    declared_size = declared_bytes(scope, limit_bytes)
    try:
        async with bodies_of(scope).room(min(declared_size, limit_bytes)):
            return await _rest(message, receive, -1 if declared_size > limit_bytes else limit_bytes, limit_bytes)
    except TooManyBodies as error:
        raise AwsError("ServiceUnavailable", 503, "Too many request bodies are unfinished: try again.") from error
    except TooSlow as error:
        raise AwsError("RequestTimeout", 408, "The request body did not come in time.") from error


async def _rest(message: Message, receive: Receive, keep_bytes: int, limit_bytes: int) -> bytes:
    """`keep_bytes` of the body are kept at most: none of one that is known to be too large."""
    body = bytearray(message.get("body", b"") if message["type"] == "http.request" and keep_bytes >= 0 else b"")
    size_bytes, more = len(message.get("body", b"")), message["type"] == "http.request"
    if not more:
        raise Disconnected
    while more and size_bytes <= limit_bytes + DRAIN_MAX_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        size_bytes += len(message.get("body", b""))
        if size_bytes <= keep_bytes:
            body += message.get("body", b"")
        more = message.get("more_body", False)
    if size_bytes > limit_bytes:
        raise too_large(limit_bytes)
    return bytes(body)


async def while_there(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The work's result. Once the caller is gone the work is broken off; raises Disconnected then. For bodies taken."""
    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done() and watching.result():
            raise Disconnected
        return await working
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _gone(receive: Receive) -> bool:
    """Whether the caller is; a server that has something else to say after the body is asked no further."""
    message = await receive()
    return bool(message["type"] == "http.disconnect")


def _gunzipped(body: bytes, limit_bytes: int) -> bytes:
    gunzip = zlib.decompressobj(wbits=31)
    try:
        plain = gunzip.decompress(body, limit_bytes)
    except zlib.error as error:
        raise unreadable("The body is not valid gzip.") from error
    if gunzip.unconsumed_tail:
        raise too_large(limit_bytes)
    if not gunzip.eof:
        raise unreadable("The gzip body is truncated.")
    return plain


def adding(send: Send, headers: Mapping[str, str]) -> Send:
    """Sends what `send` does, with these headers too: those that are there when the answer begins."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            more = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return add


async def sent(response: Response, send: Send) -> None:
    headers = {**response.headers, "content-length": str(len(response.body))}
    pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": pairs})
    await send({"type": "http.response.body", "body": response.body})
