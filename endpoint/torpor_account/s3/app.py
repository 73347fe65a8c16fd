"""Serves the object store as an ASGI application: checks that all requests share, then the operation of the request.

Signatures are verified before, at the endpoint's door, or not at all: then unsigned, signed and presigned requests may
do the same, and a presigned link still expires.
"""

import asyncio
from collections.abc import Mapping

from starlette.types import Receive, Scope, Send

from torpor_account.aws.wire.asgi import adding
from torpor_account.s3.bucket_cors import PREFLIGHT, allow, no_origin
from torpor_account.s3.bucket_names import check_version
from torpor_account.s3.call import IdsNamed, S3Call, StoreSite, nobody_named
from torpor_account.s3.edge import served
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.operation_rights import IN_BODIES, check_access, check_missing
from torpor_account.s3.routes import FORM, operation
from torpor_account.s3.wire.headers import check_choices
from torpor_account.s3.wire.http_exchange import Body, S3Answer, parsed_request
from torpor_account.s3.wire.presigned import check_not_expired


class S3App:
    """S3's REST API, path style and virtual-host style, for one account in one region."""

    def __init__(self, store: ObjectStore, *, account: str, region: str, ids_named: IdsNamed = nobody_named) -> None:
        self._store = store
        self._site = StoreSite(account, region, ids_named)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await served(scope, receive, send, self._answer)

    async def cross_origin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a web page of another origin, if the bucket's CORS configuration allows it."""
        allowing: dict[str, str] = {}

        async def answer(scope: Scope, body: Body) -> S3Answer:
            request = parsed_request(scope, body)
            allowing.update(await asyncio.to_thread(allow, self._store.buckets.configuration, request))
            return S3Answer() if request.method == PREFLIGHT else await self._answer(scope, body)

        await served(scope, receive, adding(send, allowing), answer)

    async def _answer(self, scope: Scope, body: Body) -> S3Answer:
        request = parsed_request(scope, body)
        if request.method == PREFLIGHT:
            raise no_origin()
        check_not_expired(request.query, self._store.clock())
        _check_owner(request.headers, self._site)
        check_choices(request.headers)
        name, answering = operation(request)
        is_form = name == FORM and request.signer_of is not None  # its fields say who sends it
        if request.access is not None and not is_form and name not in IN_BODIES:
            await asyncio.to_thread(check_access, request.access, name, request, self._store)
        check_version(request.query.get("versionId"))
        try:
            return await answering(S3Call(self._store, self._site, request))
        except S3Error as error:
            if request.access is not None and error.refusal is Refusal.NoSuchKey:
                await asyncio.to_thread(check_missing, request.access, name, request, self._store)
            raise


def _check_owner(headers: Mapping[str, str], site: StoreSite) -> None:
    """AWS: "If the account ID that you provide does not match the actual owner of the bucket, the request fails"."""
    for name in ("x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"):
        if headers.get(name, site.account) != site.account:
            raise S3Error(Refusal.AccessDenied)
