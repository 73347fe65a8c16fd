"""The outer edge of S3: answers every request, and every failure in S3's form. It knows no operation."""

import errno
import logging
import secrets
import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from starlette.types import Receive, Scope, Send

from torpor_account.aws.wire.asgi import HARMLESS, App
from torpor_account.s3.errors import ClientGone, Refusal, S3Error
from torpor_account.s3.wire.http_exchange import PATIENCE_S, Body, S3Answer, raw_path, sent

_LOG: Final = logging.getLogger(__name__)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Answering = Callable[[Scope, Body], Awaitable[S3Answer]]


async def served(
    scope: Scope, receive: Receive, send: Send, answering: Answering, patience_s: float = PATIENCE_S
) -> None:
    """Answer one request. A refusal is sent after the body has been read: else its sender might never read it."""
    if scope["type"] != "http":
        raise ValueError(f"S3 speaks http, not {scope['type']}")
    body = Body(receive, scope, patience_s)
    request_id = secrets.token_hex(8).upper()
    try:
        answer = await answering(scope, body)
    except ClientGone:
        return
    except Exception as error:  # noqa: BLE001 - outer edge of one request: every failure is answered in S3's form
        answer = await _refused(*_error_document(error, request_id, scope), body)
    headers = {**answer.headers, "x-amz-request-id": request_id, "x-amz-id-2": request_id, **HARMLESS}
    await sent(send, S3Answer(answer.status, headers, answer.body), headless=scope["method"] == "HEAD")


def denying(text: str) -> App:
    """An application that refuses every request as S3 does, for this reason."""
    return refusing_with(lambda: S3Error(Refusal.AccessDenied, text))


def refusing_with(error: Callable[[], S3Error]) -> App:
    """An application that refuses every request with this error."""

    async def answering(scope: Scope, body: Body) -> S3Answer:
        raise error()

    return partial(served, answering=answering)


def _error_document(error: Exception, request_id: str, scope: Scope) -> tuple[int, bytes]:
    """Status and document. The caller must keep no reference to the error, which refers to the whole body."""
    refused = refusal(error)
    return refused.status, refused.body(request_id, raw_path(scope).decode("latin-1"))


async def _refused(status: int, document: bytes, body: Body) -> S3Answer:
    """The answer to a refused request. The connection can be used again only if the whole request was read."""
    read = await body.drain()
    headers = {"content-type": "application/xml"} | ({} if read else {"connection": "close"})
    return S3Answer(status, headers, document)


def refusal(error: BaseException) -> S3Error:
    """The error in S3's form. Faults of Torpor or of the machine go to the log."""
    if isinstance(error, S3Error):
        return error
    if _disk_full(error):
        _LOG.error("the disk is full: %s", error)
        return S3Error(Refusal.InsufficientStorage)
    if isinstance(error, PermissionError):
        _LOG.error("the file system denies access to a file: %s", error)
        return S3Error(Refusal.AccessDenied)
    _LOG.error("an S3 request failed", exc_info=error)
    return S3Error(Refusal.InternalError)


def _disk_full(error: BaseException) -> bool:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno in _FULL
