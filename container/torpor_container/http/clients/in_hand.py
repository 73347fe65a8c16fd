"""What one connection has in hand, and what follows from that. It reads and writes nothing."""

import asyncio

from torpor_container.core.client_timeouts import Stage
from torpor_container.http.clients.asgi_call import AsgiCall
from torpor_container.http.clients.framed_requests import FramedRequests
from torpor_container.http.clients.known_heads import KnownHeads
from torpor_container.http.messages.request_heads import RequestHead
from torpor_container.http.messages.request_reader import RequestReader


class InHand:
    """A connection's requests: those that have come and are not read, and the one that has begun, by its state.

    `requests` counts those that have begun. `inline` is the one that the application has taken inline, `call` the one
    that it has by ASGI, and `framed` are those in frames. `tasks` are of applications that run, for `call` or for
    answered ones. `planned`: more is read in the event loop's next round.
    """

    def __init__(self, heads: KnownHeads) -> None:
        self.reader = RequestReader(heads)
        self.requests = 0
        self.inline: RequestHead | None = None
        self.call: AsgiCall | None = None
        self.tasks: dict[AsgiCall, asyncio.Task[None]] = {}
        self.framed: FramedRequests | None = None
        self.planned = False

    @property
    def held_bytes(self) -> int:
        """How much has come that nobody has taken."""
        return len(self.reader.unread) + (0 if self.call is None else self.call.intake.held)

    @property
    def at_work(self) -> bool:
        """Whether the application has a request."""
        framed = self.framed is not None and self.framed.unanswered > 0
        return self.inline is not None or bool(self.tasks) or framed

    @property
    def unanswered(self) -> bool:
        """Whether a whole request has come that is not answered. One that is not whole is owed nothing."""
        if self.framed is not None:
            return self.framed.unanswered > 0
        called = self.call is not None and self.call.intake.whole
        return called or self.inline is not None or self.planned

    @property
    def partial_body_bytes(self) -> int:
        """How much has come of a body that is not whole."""
        return 0 if self.call is None or self.call.intake.whole else self.call.intake.received

    def leave(self) -> list["asyncio.Task[None]"]:
        """Its client is gone, and its applications learn so. Returns those that may go on all the same."""
        for call in self.tasks:
            call.intake.leave()
        return [*self.tasks.values(), *(() if self.framed is None else self.framed.answering)]

    def stage(self) -> Stage:
        """What its client is to send, and how far that is."""
        if self.framed is not None or self.inline is not None or self.planned:
            return Stage.at_rest()
        if self.call is not None:
            intake = self.call.intake
            return Stage.body(self.requests, intake.received) if intake.awaited else Stage.at_rest()
        if self.reader.unread:
            return Stage.head(self.requests)
        return Stage.at_rest() if self.requests else Stage.silent()
