"""Reads requests from the ASGI server and sends answers to it: HTTP and threads. It knows no operation."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from urllib.parse import parse_qsl

from starlette.types import Message, Receive, Scope, Send

from torpor_account.aws.wire.asgi import ACCESS, FORMS
from torpor_account.s3.bucket_names import ObjectAddress, address
from torpor_account.s3.errors import ClientGone, Refusal, S3Error
from torpor_account.s3.wire.intake import DOCUMENT_MAX_BYTES, Intake, promised
from torpor_account.s3.wire.presigned import carried

if TYPE_CHECKING:
    from torpor_account.core.access.needs import CallerAccess

BATCH_BYTES: Final = 2**20
"""The size of a batch for a worker thread: large beside the cost of a call, small enough for many parallel requests."""

PATIENCE_S: Final = 25.0
"""How long a caller may pause within its body: less than the 30 s after which gunicorn closes the connection."""

_TLS_VERSIONS: Final = {0x0303: "1.2", 0x0304: "1.3"}
"""By the numbers of ASGI's extension `tls`."""

_DRAIN_MAX_BYTES: Final = 64 * 2**20
_DRAIN_MAX_S: Final = 20.0

Result = TypeVar("Result")
FormSigner = Callable[[Mapping[str, str]], "CallerAccess"]
"""Takes a form's fields by lower-case name; returns who signed its policy. Raises S3Error."""


class Body:
    """A request's body, read once from its start to its end.

    Raises ClientGone if the caller closes the connection before, and RequestTimeout if it pauses for `patience_s`.
    """

    def __init__(self, receive: Receive, scope: Scope, patience_s: float = PATIENCE_S) -> None:
        self._receive = receive
        self._patience_s = patience_s
        self._stalled = False
        self._declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        self._ended = False

    async def pieces(self) -> AsyncIterator[bytes]:
        while not self._ended:
            message = await self._message()
            if message["type"] == "http.disconnect":
                self._ended = True
                raise ClientGone
            self._ended = not message.get("more_body", False)
            if piece := message.get("body", b""):
                yield piece

    async def batches(self) -> AsyncIterator[bytes]:
        """The pieces joined to batches for a thread. The last batch is the rest, which may be empty."""
        held: list[bytes] = []
        size_bytes = 0
        async for piece in self.pieces():
            held.append(piece)
            size_bytes += len(piece)
            if size_bytes >= BATCH_BYTES:
                yield b"".join(held)
                held, size_bytes = [], 0
        yield b"".join(held)

    async def drain(self) -> bool:
        """Read the rest of the body, so that the caller reads the answer. True if the whole body was read.

        A very large rest is not read: its caller usually waits for a 100 (Continue), which it then never gets.
        """
        if self._stalled:
            return False
        if self._declared.isdigit() and int(self._declared) > _DRAIN_MAX_BYTES:
            return self._ended
        left_bytes = _DRAIN_MAX_BYTES
        with suppress(TimeoutError, ClientGone, S3Error):
            async with asyncio.timeout(_DRAIN_MAX_S):
                async for piece in self.pieces():
                    left_bytes -= len(piece)
                    if left_bytes < 0:
                        break
        return self._ended

    async def _message(self) -> Message:
        try:
            async with asyncio.timeout(self._patience_s):
                return await self._receive()
        except TimeoutError as error:
            self._stalled = True
            raise S3Error(Refusal.RequestTimeout) from error


@dataclass(frozen=True)
class S3Request:
    method: str
    url: str  # without the query
    address: ObjectAddress
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: Body
    access: "CallerAccess | None" = None  # the verified caller; None where signatures are not verified
    signer_of: FormSigner | None = None  # finds the caller of a form, for a request without a signature of its own
    tls_version: str | None = None  # such as 1.3; None without TLS


@dataclass(frozen=True)
class S3Answer:
    """One answer. `body` is the whole body, or its pieces, whose total size is then in `headers`."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | AsyncGenerator[bytes, None] = b""


def parsed_request(scope: Scope, body: Body) -> S3Request:
    """The request. Raises InvalidURI if the path or the query, percent-decoded, is not UTF-8."""
    headers: dict[str, str] = {}
    for raw_name, value in scope["headers"]:
        name, text = raw_name.decode("latin-1"), value.decode("latin-1")
        headers[name] = f"{headers[name]},{text}" if name in headers else text
    try:
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="strict"))
    except ValueError as error:
        raise S3Error(Refusal.InvalidURI) from error
    path = raw_path(scope)
    url = f"{scope.get('scheme', 'http')}://{headers.get('host', '')}{path.decode('latin-1')}"
    return S3Request(
        scope["method"],
        url,
        address(path, headers),
        query,
        carried(query) | headers,
        body,
        scope.get(ACCESS),
        scope.get(FORMS),
        _TLS_VERSIONS.get(scope.get("extensions", {}).get("tls", {}).get("tls_version")),
    )


def raw_path(scope: Scope) -> bytes:
    """The path as the caller sent it, percent-encoded."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path


class Feedable(Protocol):
    def feed(self, piece: bytes, /) -> None: ...


async def taken_in(body: Body, intake: Feedable, done: Callable[[], Result]) -> Result:
    """Feed a body to its intake batch by batch, and call `done` in the thread of the last batch."""
    held = b""
    async for batch in body.batches():
        if held:
            await asyncio.to_thread(intake.feed, held)
        held = batch

    def finished() -> Result:
        intake.feed(held)
        return done()

    return await asyncio.to_thread(finished)


async def document_of(request: S3Request, read: Callable[[bytes], Result]) -> Result:
    """The result of `read` on the document in the body, after checking the body against its headers.

    All of this runs in a thread, since a document may be long.
    """
    content = bytearray()
    intake = Intake(promised(request.headers), _Memory(content), DOCUMENT_MAX_BYTES)

    def done() -> Result:
        intake.finish()
        return read(bytes(content))

    return await taken_in(request.body, intake, done)


async def sent(send: Send, answer: S3Answer, headless: bool) -> None:
    """Send an answer; `headless` for HEAD, which is answered by headers alone."""
    whole = answer.body if isinstance(answer.body, bytes) else None
    headers = dict(answer.headers)
    if whole is not None and not headless and answer.status not in (204, 304):
        headers["content-length"] = str(len(whole))
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    if not isinstance(answer.body, bytes):
        async with aclosing(answer.body) as pieces:
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"" if headless else whole or b"", "more_body": False})


class _Memory:
    """A sink in memory, for small bodies."""

    def __init__(self, content: bytearray) -> None:
        self._content = content

    def write(self, piece: bytes) -> None:
        self._content += piece
