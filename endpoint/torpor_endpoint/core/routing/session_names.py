"""Names the instance that holds a stateful session in the id of the session, so that any router can find it.

One router remembers its sessions itself (`core.sessions`). Of several, the next request of a session may come to one
that has never heard of it, perhaps while the control is away. So a router of several adds to the id that a model gives
its new session; whoever routes the session's requests takes the addition off again before the model sees it.
"""

import re
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

LENGTH_MAX = 256
"""The longest SessionId of InvokeEndpoint. A session whose id has no room for its holder keeps its own."""
NAMED = re.compile(rb"(.+)-torpor-([0-9]{1,5})-([0-9a-f]{16})")


class NamedHolder(NamedTuple):
    """The slot that holds a session, and the mark of the incarnation in it."""

    slot: int
    mark: bytes


def with_holder(session: bytes, slot: int, incarnation: str) -> bytes:
    """The id of a session for its caller."""
    named = b"%s-torpor-%d-%s" % (session, slot, mark_of(incarnation))
    return named if len(named) <= LENGTH_MAX else session


def without_holder(session: bytes) -> tuple[bytes, NamedHolder | None]:
    """The id as the model gave it, and the holder that the caller's id names."""
    found = NAMED.fullmatch(session)
    return (session, None) if found is None else (found[1], NamedHolder(int(found[2]), found[3]))


@lru_cache(maxsize=4096)
def mark_of(incarnation: str) -> bytes:
    """What stands for an incarnation in an id, which may have letters, digits and hyphens only."""
    return blake2b(incarnation.encode(), digest_size=8).hexdigest().encode()
