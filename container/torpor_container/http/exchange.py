"""What an ASGI application may offer beside ASGI, and a request in a frame: whole, as its answer is."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from starlette.types import ASGIApp, Message, Scope

from torpor_container.transport.frames import Header

if TYPE_CHECKING:
    from torpor_container.transport.peers.peer_tls import PeerTls

Tell = Callable[[int, list[Header], bytes], None]
"""Takes an answer's status, headers and body, and raises nothing. The server adds what says how long the body is."""
TakeInline = Callable[[Scope, bytes, Tell], bool]
"""Takes a request with its body, within the callback that read it and with no task. `Tell` is called once, before it
returns or after; an exception comes before that. False, and nothing is done, for one that must come by ASGI. It leaves
the scope as it is, which may be other requests' too."""


@runtime_checkable
class InlineApp(Protocol):
    """An ASGI application that can take some requests inline."""

    def inline(self, scope: Scope) -> TakeInline | None:
        """What takes the requests with this method, path, query and headers; None if they come by ASGI.

        The server keeps it with the head, for requests of any client: it looks at nothing else of the scope.
        """


@runtime_checkable
class Framed(Protocol):
    """What an ASGI application has that takes requests as frames too (see `frames`)."""

    framed: bytes
    """The path that they are for."""


@runtime_checkable
class PartialApp(Protocol):
    """An ASGI application that answers some of the requests to its port. Another process has the others."""

    def elsewhere(self, scope: Scope) -> bool:
        """Whether the owner of the port answers this request (`sharing.giving`)."""


@runtime_checkable
class CertifiedApp(Protocol):
    """An ASGI application whose port routers of its deployment call by TLS (`tls.control_terms`)."""

    peers: "PeerTls | None"
    """What this process proves itself with to them; None: they call as everybody does."""


class Exchange:
    """One request in a frame by ASGI. The answer is kept until it is whole."""

    __slots__ = ("_body", "_gone", "_taken", "body", "finished", "headers", "status")

    def __init__(self, body: bytes, gone: asyncio.Event) -> None:
        """`gone`: when the client is."""
        self._body = body
        self._gone = gone
        self._taken = False
        self.status = 0
        self.headers: list[Header] = []
        self.body = b""
        self.finished = False

    async def answered_by(self, app: ASGIApp, scope: Scope) -> None:
        """Raises what the application raises, and ValueError where it returns too early."""
        await app(scope, self.receive, self.send)
        if not self.finished:
            raise ValueError("the application returned before its answer was whole")

    async def receive(self) -> Message:
        if self._taken:
            await self._gone.wait()
        if self._gone.is_set():
            return {"type": "http.disconnect"}
        self._taken = True
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")
            self.finished = not message.get("more_body", False)
