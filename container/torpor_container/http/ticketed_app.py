"""Lets in what comes to a guarded port without a greeting, each request with a ticket: invocations that a gateway
sends, requests of neighbours for artifacts, and nothing else."""

from collections.abc import Callable
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from torpor_container import wire
from torpor_container.transport.tickets import ARTIFACT, HEADER, admits

TARGET_MODEL = wire.TARGET_MODEL.lower().encode()
STRIPPED = (HEADER, wire.NEIGHBOURS.lower().encode())
"""No gateway names neighbours: an instance asks only those that a router names."""
REFUSED = (
    b"This port takes requests of Torpor's routers, and of a gateway with a ticket of one (docs/how-to/gateway.md).\n"
)


class TicketKinds(NamedTuple):
    """What a port lets in by a ticket."""

    invocations: bool = False
    artifacts: bool = False


class TicketedApp:
    """`app` answers a request with a gateway's ticket as an invocation, whatever its path: the gateway's own path names
    the endpoint. `epoch` gives seconds since 1970."""

    def __init__(self, app: ASGIApp, secret: bytes, epoch: Callable[[], float], kinds: TicketKinds) -> None:
        self._app = app
        self._secret = secret
        self._epoch = epoch
        self._kinds = kinds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = self._admitted(scope) if scope["type"] == "http" else None
        if path is None:
            await _refuse(send)
            return
        kept = [header for header in scope["headers"] if header[0] not in STRIPPED]
        await self._app({**scope, "path": path, "raw_path": path.encode(), "headers": kept}, receive, send)

    def _admitted(self, scope: Scope) -> str | None:
        """The path of the request as the application gets it; None for one that has no ticket for it."""
        headers = dict(scope["headers"])
        model, ticket, now_s = headers.get(TARGET_MODEL, b""), headers.get(HEADER, b""), self._epoch()
        if scope["method"] == "GET" and scope["path"] == wire.ARTIFACT:
            known = self._kinds.artifacts and admits(self._secret, model, ticket, now_s, ARTIFACT)
            return wire.ARTIFACT if known else None
        known = self._kinds.invocations and scope["method"] == "POST" and admits(self._secret, model, ticket, now_s)
        return wire.INVOCATIONS if known else None


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(REFUSED))]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": REFUSED})
