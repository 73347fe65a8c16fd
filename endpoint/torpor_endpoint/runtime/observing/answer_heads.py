"""What the headers of an answer mean for its caller and its observers: found out once for answers that are alike."""

from collections.abc import Sequence
from functools import lru_cache

from torpor_container import wire
from torpor_container.transport.frames import Header, headers_of
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.sending.machine import CUSTOM_ATTRIBUTES

COPIED = frozenset(name.lower().encode() for name in wire.RETURNED)
MODEL_CACHE = wire.MODEL_CACHE.lower().encode()
HIT = wire.MODEL_CACHE_HIT.encode()
SINGLE = frozenset(name.lower().encode() for name in (wire.COLD, wire.EFFORT, wire.FAULT, wire.STREAM))
"""An answer with one of these headers is like no other."""


class AnswerHead:
    """`copied` are the headers that the caller gets, and `attributes` says whether custom attributes are among them.

    `hit` is None where there is no model cache. An answer that is `alone` is counted by itself, and in no group.
    """

    __slots__ = ("alone", "attributes", "copied", "hit")

    def __init__(self, headers: Sequence[Header]) -> None:
        names = {name for name, _ in headers}
        missed = any(name == MODEL_CACHE and value != HIT for name, value in headers)
        self.copied = [header for header in headers if header[0] in COPIED]
        self.attributes = CUSTOM_ATTRIBUTES in names
        self.hit = True if MODEL_CACHE in names else None
        self.alone = missed or not SINGLE.isdisjoint(names)


def head_of(answer: UpstreamAnswer) -> AnswerHead:
    return _known(answer.alike) if answer.alike else AnswerHead(answer.headers)


@lru_cache(256)
def _known(alike: bytes) -> AnswerHead:
    return AnswerHead(headers_of(alike))
