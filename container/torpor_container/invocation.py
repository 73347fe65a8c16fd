"""One call to a model and its answer, as plain values: bytes in, bytes out."""

from collections.abc import Sequence
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
    """All headers of the request, names in lower case. A foreign container gets those of `wire.FORWARDED`."""


class Reply(NamedTuple):
    """A model's answer. `content_type` is empty and `custom_attributes` None when the model set none; `effort` is what
    the prediction took, if it was measured; `more` are further headers of `wire.RETURNED`, in lower case."""

    body: bytes
    content_type: str
    status: int = 200
    custom_attributes: str | None = None
    effort: Effort | None = None
    more: tuple[tuple[bytes, bytes], ...] = ()
