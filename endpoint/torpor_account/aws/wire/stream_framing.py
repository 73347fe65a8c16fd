"""How the parts of a streamed answer leave: as AWS's event stream, or as a face of another protocol has them."""

from collections.abc import Sequence
from typing import Protocol

from torpor_account.aws.wire.asgi import Headers
from torpor_account.aws.wire.event_stream import CONTENT_TYPE, PayloadParts, exception

STREAM_CONTENT_TYPE = b"x-amzn-sagemaker-content-type"
PAYLOAD = PayloadParts("PayloadPart")


class StreamFraming(Protocol):
    """The bytes around the parts."""

    def typed(self, content_type: bytes | None) -> Headers:
        """The headers that say of what type the answer is; the model's own type, if it names one."""

    def encoded(self, parts: Sequence[bytes]) -> bytes:
        """Parts that leave together, at least one."""

    def failure(self, content_type: bytes | None, message: str, code: str) -> bytes | None:
        """What ends an answer whose model fails midway; None: nothing can say so but an end in its midst."""


class EventStreamFraming:
    """InvokeEndpointWithResponseStream's."""

    def typed(self, content_type: bytes | None) -> Headers:
        own = [] if content_type is None else [(STREAM_CONTENT_TYPE, content_type)]
        return [*own, (b"content-type", CONTENT_TYPE)]

    def encoded(self, parts: Sequence[bytes]) -> bytes:
        return PAYLOAD.encode(parts[0]) if len(parts) == 1 else b"".join(map(PAYLOAD.encode, parts))

    def failure(self, content_type: bytes | None, message: str, code: str) -> bytes | None:
        return exception("ModelStreamError", {"Message": message, "ErrorCode": code})


EVENT_STREAM = EventStreamFraming()
