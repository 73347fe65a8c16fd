"""The heads that clients send again and again, each read once: most clients send the same one with every request."""

import re
from collections.abc import Callable

from starlette.types import Scope

from torpor_container.http.clients.request_scopes import scope_of
from torpor_container.http.exchange import TakeInline
from torpor_container.http.messages.request_heads import RequestHead, read_head
from torpor_container.transport.parts import IN_PARTS

INVOCATION = re.compile(rb"/[!-$&-<>@-~]*(?:/(?:invocations|invoke|infer)|:(?:predict|classify|regress))|/invocations")
"""The path of a request that is offered inline: it has no query, and nothing in it is quoted."""

KEPT_MAX = 256
KEPT_MAX_BYTES = 4096
"""So many heads are kept, each of at most so many bytes. A client that signs its requests sends none of them twice."""

Inline = Callable[[Scope], TakeInline | None]


class KnownHead:
    """A head, its part of the scopes of its requests, and how the application takes these inline; None: it does not."""

    __slots__ = ("head", "scope", "take")

    def __init__(self, head: RequestHead, inline: Inline) -> None:
        self.head = head
        self.scope = scope_of(head)
        invokes = head.method == "POST" and INVOCATION.fullmatch(head.target) is not None
        offered = invokes and not head.expects_continue and IN_PARTS not in head.headers
        self.take = inline(self.scope) if offered else None


class KnownHeads(dict[bytes, KnownHead]):
    """By their bytes. A head that is not kept is read. Raises RequestRefused for one that is none."""

    def __init__(self, inline: Inline) -> None:
        """`inline` is the application's (see `exchange.InlineApp`)."""
        self._inline = inline

    def __missing__(self, data: bytes) -> KnownHead:
        known = KnownHead(read_head(data), self._inline)
        if known.take is not None and len(data) <= KEPT_MAX_BYTES:
            if len(self) == KEPT_MAX:
                self.clear()
            self[data] = known
        return known
