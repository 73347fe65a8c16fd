"""Makes an invocation's answer: status, headers and body of what a model replied, or of what went wrong."""

import json
import logging

from starlette.types import Send

from torpor_container import wire
from torpor_container.errors import ContainerError, LoadFailed, ModelFault
from torpor_container.invocation import Reply, StreamReply
from torpor_container.measuring.server_timing import Timing
from torpor_container.transport.frames import Header

log = logging.getLogger(__name__)

_ATTRIBUTES = wire.CUSTOM_ATTRIBUTES.lower().encode()
_MODEL_CACHE = wire.MODEL_CACHE.lower().encode()
_HIT, _MISS = wire.MODEL_CACHE_HIT.encode(), wire.MODEL_CACHE_MISS.encode()
_COLD = wire.COLD.lower().encode()
_EFFORT = wire.EFFORT.lower().encode()
_VERSION = wire.ARTIFACT_VERSION.lower().encode()
_DIGEST = wire.ARTIFACT_DIGEST.lower().encode()
_FAULT = wire.FAULT.lower().encode()


def answer_of(target: str | None, outcome: Reply | ContainerError, timing: Timing) -> tuple[int, list[Header], bytes]:
    """Status, headers and body. A model's own fault is in the log too: AWS's ModelError sends its reader there.

    `Server-Timing` comes first: it differs every time, and the others come again and again (see `transport.frames`).
    """
    fault = None
    if isinstance(outcome, ContainerError):
        reply, fault = outcome.reply(), outcome.fault
        if isinstance(outcome, ModelFault | LoadFailed):
            log.error("%s: %s", target or "the model", outcome)
    else:
        reply = outcome
    headers = [(b"server-timing", timing.header().encode())]
    if reply.content_type:
        headers += ((b"content-type", reply.content_type.encode("latin-1")),)
    if timing.hit is not None:
        headers += ((_MODEL_CACHE, _HIT if timing.hit else _MISS),)
    if timing.cold is not None:
        headers += ((_COLD, json.dumps(timing.cold).encode()),)
    if timing.effort is not None:
        headers += ((_EFFORT, timing.effort.header().encode()),)
    if timing.version:
        headers += ((_VERSION, timing.version.encode("ascii", "replace")),)
    if timing.digest:
        headers += ((_DIGEST, timing.digest.encode()),)
    if fault is not None:
        headers += ((_FAULT, fault.value.encode()),)
    if reply.custom_attributes is not None:
        headers += ((_ATTRIBUTES, reply.custom_attributes.encode("latin-1", "replace")),)
    headers += reply.more
    return reply.status, headers, reply.body


def with_length(headers: list[Header], content: bytes) -> list[Header]:
    return [*headers, (b"content-length", b"%d" % len(content))]


async def send_whole(target: str | None, reply: StreamReply, timing: Timing, send: Send) -> None:
    body = b"".join([part async for come in reply.parts for part in come])
    status, headers, content = answer_of(target, reply.head._replace(body=body), timing)
    await send({"type": "http.response.start", "status": status, "headers": with_length(headers, content)})
    await send({"type": "http.response.body", "body": content})
