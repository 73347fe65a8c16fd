"""The S3 face of an endpoint that takes its artifacts from another S3: it keeps no object, and says where they are."""

from starlette.types import Receive, Scope, Send

from torpor_endpoint.services.s3.edge import served
from torpor_endpoint.services.s3.errors import Refusal, S3Error
from torpor_endpoint.services.s3.wire.exchange import Body, S3Answer


class S3Elsewhere:
    """Refuses every call. To pass it on it would have to be signed anew, with rights that its caller may not have."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await served(scope, receive, send, self._answer)

    async def _answer(self, scope: Scope, body: Body) -> S3Answer:
        text = f"This endpoint keeps no objects: it takes artifacts from {self._url}. Send S3 calls there."
        raise S3Error(Refusal.InvalidRequest, text, Endpoint=self._url)
