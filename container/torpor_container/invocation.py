"""One call to a model and its answer, as plain values: bytes in, bytes out."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torpor_container.measuring.effort import Effort


@dataclass(slots=True)
class Invocation:
    """The body and the headers that reach a model; an absent header is empty.

    A model releases the body once it has read it, so that a large one does not take memory until the answer.
    """

    body: bytes
    content_type: str = ""
    accept: str = ""
    custom_attributes: str = ""
    headers: Sequence[tuple[bytes, bytes]] = field(default=(), init=False)
    """All headers of the request, names in lower case. A foreign container gets those of
    `wire.FORWARDED` and `wire.TRACE_CONTEXT`."""
    streamed: bool = field(default=False, init=False)
    """Whether the caller takes the answer in parts. Otherwise a model that makes parts joins them."""
    asks_parameters: bool = field(default=False, init=False)
    """Whether a script is asked what it advises for transform jobs, and not to predict."""
    wants_version: bool = field(default=False, init=False)
    """Whether the caller wants to know which version of the artifact answers (see `Timing.version`)."""
    only_loaded: bool = field(default=False, init=False)
    """Whether a model that is neither in memory nor on its way is not to be loaded (see `wire.MODEL_CACHE_ONLY`)."""


class Reply(NamedTuple):
    """A model's answer. `content_type` is empty and `custom_attributes` None when the model set none; `effort` is what
    the prediction took, if it was measured; `more` are further headers of `wire.RETURNED`, in lower case."""

    body: bytes
    content_type: str
    status: int = 200
    custom_attributes: str | None = None
    effort: Effort | None = None
    more: tuple[tuple[bytes, bytes], ...] = ()


PART_MAX_BYTES = 1 << 20
"""The most bytes of one part of a streamed answer. Larger parts are split: each is held in memory whole."""


class StreamReply(NamedTuple):
    """An answer in parts. `head` has no body; `parts` gives those that have come, at least one, and waits for the next
    when it is asked again. It raises ContainerError if the model fails between two parts. `whole`: the model made the
    answer at once."""

    head: Reply
    parts: AsyncIterator[Sequence[bytes]]
    whole: bool = False


def in_one_part(reply: Reply) -> StreamReply:
    """A whole answer as a stream: one part, or several of PART_MAX_BYTES."""
    return StreamReply(reply._replace(body=b""), _pieces(reply.body), whole=True)


async def _pieces(body: bytes) -> AsyncIterator[Sequence[bytes]]:
    for piece in pieces(body):
        yield (piece,)


def pieces(body: bytes) -> Sequence[bytes]:
    """The body in pieces of PART_MAX_BYTES at most; none for an empty one."""
    if len(body) <= PART_MAX_BYTES:
        return (body,) if body else ()
    return [body[at : at + PART_MAX_BYTES] for at in range(0, len(body), PART_MAX_BYTES)]
