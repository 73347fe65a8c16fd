"""Lets in what a gateway sends to a guarded port without a greeting: invocations with a ticket, and nothing else."""

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from torpor_container import wire
from torpor_container.transport.tickets import HEADER, admits

TARGET_MODEL = wire.TARGET_MODEL.lower().encode()
REFUSED = (
    b"This port takes requests of Torpor's routers, and of a gateway with a ticket of one (docs/how-to/gateway.md).\n"
)


class TicketedApp:
    """`app` answers a request with a ticket as an invocation, whatever its path: the gateway's own path names the
    endpoint. `epoch` gives seconds since 1970."""

    def __init__(self, app: ASGIApp, secret: bytes, epoch: Callable[[], float]) -> None:
        self._app = app
        self._secret = secret
        self._epoch = epoch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._admitted(scope):
            await _refuse(send)
            return
        path = wire.INVOCATIONS
        kept = [header for header in scope["headers"] if header[0] != HEADER]
        await self._app({**scope, "path": path, "raw_path": path.encode(), "headers": kept}, receive, send)

    def _admitted(self, scope: Scope) -> bool:
        headers = dict(scope["headers"])
        model, ticket = headers.get(TARGET_MODEL, b""), headers.get(HEADER, b"")
        return scope["method"] == "POST" and admits(self._secret, model, ticket, self._epoch())


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(REFUSED))]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": REFUSED})
