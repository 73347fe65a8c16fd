"""Reads requests with bounded bodies from ASGI, and sends responses to it. It knows no AWS protocol."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from torpor_account.aws.errors import AwsError, too_large, unreadable, unsupported
from torpor_account.request_bodies import TooManyBodies, TooSlow, bodies_of, declared_bytes
from torpor_container.frozen_class import frozen

if TYPE_CHECKING:
    from torpor_account.core.access.needs import CallerAccess

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
Tell = Callable[[int, Headers, bytes], None]
"""Takes an answer's status, headers and body."""
TakeInline = Callable[[Scope, bytes, Tell], bool]
"""Takes a request with its body, and calls `Tell` with the answer, before it returns or later. If it returns False it
has done nothing, and the server sends the request by ASGI."""
Inline = Callable[[Scope], TakeInline | None]
"""Finds what takes the requests with this method, path, query and headers; None: they come by ASGI. The server keeps it
for all such requests, of any client: what depends on more than the head is for `TakeInline` to look at."""
T = TypeVar("T")

ACCESS = "torpor.access"
"""The key in a request's scope of its verified caller, a `CallerAccess`."""
FORMS = "torpor.forms"
"""The key in a request's scope of what finds the signer of an HTML form by its fields, which are in the body."""

HARMLESS = MappingProxyType(
    {
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox",
        "cross-origin-resource-policy": "same-origin",
    }
)
"""Headers of content that callers may have written. With them a browser believes the content type, runs no script,
gives the content no origin, and lets a page of another origin embed it only if that page may read it."""

DRAIN_MAX_BYTES = 64 << 20
"""How much of a refused body is read all the same: a client may read the answer only after it has sent its body."""


class Disconnected(Exception):
    """The caller closed the connection before its request was complete."""


@frozen
class AwsRequest:
    """One request. `headers` are by lower-case name; `query` is the text after the question mark."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: str = ""
    body: bytes = b""
    access: "CallerAccess | None" = None
    """The verified caller; None where signatures are not verified."""
    scheme: str = "http"


@frozen
class Response:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def opened(scope: Scope) -> AwsRequest:
    """The request without its body."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = scope.get("query_string", b"").decode("latin-1")
    access, scheme = scope.get(ACCESS), scope.get("scheme", "http")
    return AwsRequest(scope["method"], scope["path"], headers, query, access=access, scheme=scheme)


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
    """The body as it was sent, still compressed. Raises AwsError, Disconnected.

    A body that is too large is read on up to DRAIN_MAX_BYTES: otherwise the connection breaks before the answer.
    """
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
    """The whole body. At most `keep_bytes` are stored: none of a body that is known to be too large."""
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


async def until_disconnected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, for a request whose body was read. Cancels the work and raises Disconnected if the
    caller closes the connection."""
    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done() and watching.result():
            raise Disconnected
        return await working
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _disconnected(receive: Receive) -> bool:
    """Wait for the next message: whether it says that the caller has closed the connection."""
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
    """A `send` that adds these headers. They are read when the answer begins, so they may change until then."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            more = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return add


async def sent(response: Response, send: Send) -> None:
    """Send the whole response."""
    headers = {**response.headers, "content-length": str(len(response.body))}
    pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": pairs})
    await send({"type": "http.response.body", "body": response.body})
