"""S3 for an endpoint that reads its artifacts from another S3: refuses every call, and names the other S3."""

from starlette.types import Receive, Scope, Send

from torpor_account.s3.edge import served
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.http_exchange import Body, S3Answer


class S3Elsewhere:
    """Refuses every call. To forward one it would have to sign it, with rights that the caller may not have."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await served(scope, receive, send, self._answer)

    async def _answer(self, scope: Scope, body: Body) -> S3Answer:
        text = f"This endpoint stores no objects: it takes artifacts from {self._url}. Send S3 calls there."
        raise S3Error(Refusal.InvalidRequest, text, Endpoint=self._url)
