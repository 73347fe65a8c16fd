"""Parses an InvokeEndpoint request: reads and checks its headers once, and reads its body within a limit."""

from collections.abc import Sequence
from typing import NamedTuple

from torpor_container import wire
from torpor_container.transport.upstream import Body
from torpor_endpoint.aws.wire.asgi import DRAIN_MAX_BYTES, Disconnected, Receive, Scope
from torpor_endpoint.request_bodies import TooManyBodies, TooSlow, bodies_of, declared_bytes
from torpor_endpoint.services.runtime.errors import RuntimeFault, Situation

TARGET_MODEL = wire.TARGET_MODEL.lower().encode()
CUSTOM_ATTRIBUTES = wire.CUSTOM_ATTRIBUTES.lower().encode()
TARGET_VARIANT = wire.TARGET_VARIANT.lower().encode()
TARGET_CONTAINER = b"x-amzn-sagemaker-target-container-hostname"
INFERENCE_COMPONENT = b"x-amzn-sagemaker-inference-component"
INFERENCE_ID = wire.INFERENCE_ID.lower().encode()
SESSION_ID = wire.SESSION_ID.lower().encode()
EXPLANATIONS = b"x-amzn-sagemaker-enable-explanations"
CONTENT_TYPE = b"content-type"
ACCEPT = b"accept"

LENGTHS: dict[bytes, tuple[str, int, int]] = {
    # header: member, shortest, longest (botocore's service model of sagemaker-runtime)
    TARGET_MODEL: ("TargetModel", 1, 1024),
    TARGET_VARIANT: ("TargetVariant", 0, 63),
    TARGET_CONTAINER: ("TargetContainerHostname", 0, 63),
    CUSTOM_ATTRIBUTES: ("CustomAttributes", 0, 1024),
    INFERENCE_ID: ("InferenceId", 1, 64),
    INFERENCE_COMPONENT: ("InferenceComponentName", 0, 63),
    SESSION_ID: ("SessionId", 0, 256),
    EXPLANATIONS: ("EnableExplanations", 1, 64),
    CONTENT_TYPE: ("ContentType", 0, 1024),
    ACCEPT: ("Accept", 0, 1024),
}

PASSED_ON = frozenset(name.lower().encode() for name in wire.FORWARDED)


class Invoke(NamedTuple):
    """The headers of a request that InvokeEndpoint knows."""

    headers: dict[bytes, bytes]

    @classmethod
    def read(cls, scope: Scope) -> "Invoke":
        """Take the known headers from the scope of an ASGI request."""
        return cls({name: value for name, value in scope["headers"] if name in LENGTHS})

    def text(self, name: bytes) -> str | None:
        """The header's text. boto3 sends a name beyond ASCII as UTF-8."""
        value = self.headers.get(name)
        return None if value is None else value.decode(errors="surrogateescape")

    def first_of(self, names: Sequence[bytes]) -> bytes | None:
        """The first of these headers that the request has and that is not empty."""
        for name in names:
            if self.headers.get(name):
                return name
        return None

    def check(self) -> None:
        """Check the length of each header. Raises a RuntimeFault that names the member of the first bad one."""
        for name, value in self.headers.items():
            member, shortest, longest = LENGTHS[name]
            if not shortest <= len(value) <= longest:
                raise RuntimeFault(
                    Situation.PARAMETER,
                    detail=f"1 validation error detected: Value at '{member}' failed to satisfy constraint: "
                    f"Member must have length between {shortest} and {longest}",
                )

    def forwarded(self, target: str | None) -> list[tuple[bytes, bytes]]:
        """The headers for the container. `target` is the model to name; None on a single-model variant."""
        headers = [header for header in self.headers.items() if header[0] in PASSED_ON]
        if target is not None:
            headers.append((TARGET_MODEL, target.encode(errors="surrogateescape")))
        return headers


async def read_body(scope: Scope, receive: Receive, limit_bytes: int) -> tuple[Body, int]:
    """Read the body. Return it with its full size in bytes.

    A body over the limit is read on for up to DRAIN_MAX_BYTES and dropped, so that the caller gets an answer. Raises
    RuntimeFault for a body that is too slow or for which there is no room, and Disconnected if the caller has left.
    """
    chunks: Body = []
    size_bytes, more = await _read_on(receive, chunks, 0, limit_bytes)
    if not more:
        return chunks, size_bytes
    declared = declared_bytes(scope, limit_bytes)
    try:
        async with bodies_of(scope).room(min(declared, limit_bytes)):
            while more and size_bytes <= limit_bytes + DRAIN_MAX_BYTES:
                keep_bytes = limit_bytes if declared <= limit_bytes else 0
                size_bytes, more = await _read_on(receive, chunks, size_bytes, keep_bytes)
    except TooManyBodies as error:
        raise RuntimeFault(Situation.BODIES_FULL) from error
    except TooSlow as error:
        raise RuntimeFault(Situation.BODY_SLOW) from error
    return chunks, size_bytes


async def _read_on(receive: Receive, chunks: Body, size_bytes: int, keep_bytes: int) -> tuple[int, bool]:
    """Read one more piece. Return the size so far, and whether others follow."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    chunk = message.get("body", b"")
    size_bytes += len(chunk)
    if size_bytes <= keep_bytes:
        chunks.append(chunk)
    else:
        chunks.clear()
    return size_bytes, message.get("more_body", False)
