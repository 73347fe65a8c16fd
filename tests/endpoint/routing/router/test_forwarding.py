"""InvokeEndpointAsync at a router whose control cannot take it."""

import asyncio
import json
from typing import Any

from torpor_endpoint.routing.protocol.forwarded import ForwardedAnswer, ForwardedRequest
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.routing.router.following import FollowedRoster
from torpor_endpoint.routing.router.forwarding import AWAY, ForwardedAsync
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.app import AccountAndRegion, Clocks, RuntimeApp
from torpor_endpoint.runtime.observing.observers import Observers
from torpor_endpoint.runtime.sending import RequestSender


class AwayControl(ControlClient):
    async def forward(self, request: ForwardedRequest) -> ForwardedAnswer:
        raise ControlAway("too many requests wait for it")


def app() -> RuntimeApp:
    router, sender = Router(FollowedRoster(), lambda: 0.0, strict=False), RequestSender(lambda: 0.0, strict=False)
    clocks, forwarded = Clocks(lambda: 0.0, lambda: 0.0), ForwardedAsync(AwayControl("http://nowhere"))
    return RuntimeApp(router, sender, Observers([]), AccountAndRegion("1"), clocks, asynchronous=forwarded)


def test_a_request_that_the_control_cannot_take_is_refused_as_the_runtime_refuses() -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"1,2"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/endpoints/shop/async-invocations", "headers": []}
    asyncio.run(app()(scope, receive, send))
    start, body = sent
    assert start["status"] == 503
    assert dict(start["headers"])[b"x-amzn-errortype"] == b"ServiceUnavailable:"
    assert json.loads(body["body"]) == {"Message": AWAY}
