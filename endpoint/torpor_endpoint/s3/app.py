"""The object store as an ASGI application: who is asked for what, and how every failure is answered.

Signatures are not looked at: unsigned, signed and presigned requests are the same here.
"""

import errno
import logging
import secrets
import sqlite3
from collections.abc import Mapping
from typing import Final

from starlette.types import Receive, Scope, Send

from torpor_endpoint.s3.call import Call, Site
from torpor_endpoint.s3.errors import ClientGone, Refusal, S3Error
from torpor_endpoint.s3.exchange import Answer, Body, parsed_request, sent
from torpor_endpoint.s3.routes import operation
from torpor_endpoint.s3.store import ObjectStore

_LOG: Final = logging.getLogger(__name__)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class S3App:
    """S3's REST API, path style and virtual-host style, for one account in one region."""

    def __init__(self, store: ObjectStore, *, account: str, region: str) -> None:
        self._store = store
        self._site = Site(account, region)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"S3 speaks http, not {scope['type']}")
        body = Body(receive, scope)
        request_id = secrets.token_hex(8).upper()
        try:
            answer = await self._answer(scope, body)
        except ClientGone:
            return
        except Exception as error:  # noqa: BLE001 - the outer edge: whatever it is, it is answered in S3's form
            refusal = _refusal(error)
            await body.drain()
            answer = Answer(refusal.status, {"content-type": "application/xml"}, refusal.body(request_id))
        headers = {**answer.headers, "x-amz-request-id": request_id, "x-amz-id-2": request_id}
        await sent(send, Answer(answer.status, headers, answer.body), headless=scope["method"] == "HEAD")

    async def _answer(self, scope: Scope, body: Body) -> Answer:
        request = parsed_request(scope, body)
        _check_owner(request.headers, self._site)
        return await operation(request)(Call(self._store, self._site, request))


def _refusal(error: Exception) -> S3Error:
    """The error as S3 would tell it."""
    if isinstance(error, S3Error):
        return error
    if _disk_full(error):
        _LOG.error("the disk is full: %s", error)
        return S3Error(Refusal.InsufficientStorage)
    _LOG.error("an S3 request failed", exc_info=error)
    return S3Error(Refusal.InternalError)


def _disk_full(error: Exception) -> bool:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno in _FULL


def _check_owner(headers: Mapping[str, str], site: Site) -> None:
    """AWS: "If the account ID that you provide does not match the actual owner of the bucket, the request fails"."""
    for name in ("x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"):
        if headers.get(name, site.account) != site.account:
            raise S3Error(Refusal.AccessDenied)
