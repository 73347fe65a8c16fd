"""Starts and stops the endpoint by ASGI's lifespan protocol, and answers the page of health.

Every client that waits for a start asks for health, so its answer needs no web framework. Another application answers
the other pages.
"""

import json
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from torpor_account.aws.wire.asgi import HARMLESS, App, Receive, Response, Scope, Send, sent
from torpor_account.gateway import HEALTH
from torpor_account.request_bodies import STATE, Bodies
from torpor_endpoint.host import HostError


class Lifespan:
    """An ASGI application. It runs inside `life`, answers `health` on that page, and leaves the rest to `pages`."""

    def __init__(
        self,
        life: Callable[[], AbstractAsyncContextManager[None]],
        health: Mapping[str, str],
        pages: App,
        is_unproven: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_unproven`: another endpoint may serve in place of this one, and callers are to be led there."""
        self._life = life
        self._healthy = _health(200, health)
        self._unproven = _health(503, {**health, "status": "unproven"})
        self._is_unproven = is_unproven
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            scope.get("state", {})[STATE] = Bodies()
            await self._live(receive, send)
        elif scope["type"] == "http" and scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD"):
            await sent(self._unproven if self._is_unproven() else self._healthy, send)
        else:
            await self._pages(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Follow ASGI's lifespan protocol: tell the server of a failure, and raise it, unless its message says all."""
        phase = "startup"
        await receive()
        try:
            async with self._life():
                await send({"type": "lifespan.startup.complete"})
                phase = "shutdown"
                await receive()
        except HostError as refused:  # such as a cluster that is not there
            await send({"type": f"lifespan.{phase}.failed", "message": str(refused)})
            return
        except BaseException:  # ASGI: the server gets the reason of whatever fails
            await send({"type": f"lifespan.{phase}.failed", "message": traceback.format_exc()})
            raise
        await send({"type": "lifespan.shutdown.complete"})


def _health(status: int, said: Mapping[str, str]) -> Response:
    body = json.dumps(said, separators=(",", ":")).encode()
    return Response(status, body, {"content-type": "application/json", **HARMLESS})
