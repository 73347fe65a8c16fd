"""One request of a gateway at the router's own application: its body goes in, and a place or an answer comes out."""

import asyncio
from typing import NamedTuple

from torpor_account.aws.wire.asgi import App, Headers, Message, Scope
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamRefused
from torpor_endpoint.routing.picker.picked_place import GATEWAY, GatewayRequest, PickedPlace

FAILED = 500


class ToldAnswer(NamedTuple):
    """What the application answers."""

    status: int
    headers: Headers
    body: bytes


class GatewayCall:
    """`close` ends it, in whatever state it is."""

    def __init__(self, app: App, scope: Scope, allowed: frozenset[str] | None) -> None:
        self._asked = GatewayRequest(allowed)
        self._told: asyncio.Future[ToldAnswer] = asyncio.get_running_loop().create_future()
        self._body: asyncio.Queue[Message] = asyncio.Queue()
        self._start: tuple[int, Headers] = (FAILED, [])
        self._chunks: list[bytes] = []
        self._task = asyncio.create_task(self._run(app, {**scope, GATEWAY: self._asked}))

    def feed(self, chunk: bytes, ends: bool) -> None:
        """Bring a piece of the request's body."""
        self._body.put_nowait({"type": "http.request", "body": chunk, "more_body": not ends})

    async def decided(self) -> PickedPlace | ToldAnswer:
        """Where the request goes; or the answer, if it goes nowhere."""
        await asyncio.wait((self._asked.picked, self._told), return_when=asyncio.FIRST_COMPLETED)
        return self._asked.picked.result() if self._asked.picked.done() else self._told.result()

    async def ended(self, came: UpstreamAnswer | None) -> ToldAnswer:
        """The answer for the caller, where this one came of the instance; None: the gateway did not reach it."""
        if came is None:
            self._asked.answered.set_exception(UpstreamRefused("the gateway did not reach the instance"))
        else:
            self._asked.answered.set_result(came)
        return await self._told

    def close(self) -> None:
        self._task.cancel()
        if self._asked.answered.done() and not self._asked.answered.cancelled():
            self._asked.answered.exception()  # nobody else may have read it

    async def _run(self, app: App, scope: Scope) -> None:
        try:
            await app(scope, self._body.get, self._send)
        finally:
            if not self._told.done():
                self._told.set_result(ToldAnswer(FAILED, [], b""))

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message["status"], list(message["headers"])
            return
        self._chunks.append(message.get("body", b""))
        if not message.get("more_body", False) and not self._told.done():
            self._told.set_result(ToldAnswer(*self._start, b"".join(self._chunks)))
