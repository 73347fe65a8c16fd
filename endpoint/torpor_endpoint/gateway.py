"""One port, all services: tells what a request means and hands it on. It reads headers and path, never a body."""

import json
from collections.abc import Awaitable, Callable, Mapping

from botocore.loaders import Loader

from torpor_endpoint.aws.asgi import Receive, Response, Scope, Send, body_of, opened, sent
from torpor_endpoint.aws.scope import service_of
from torpor_endpoint.aws.service import Service

OWN = "/_torpor/"
"""Torpor's own pages: a name that no bucket can have."""

SCOPE_HEADERS = (b"authorization", b"x-amz-target", b"smithy-protocol")

App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Gateway:
    """The ASGI application of the one port. `services` are by botocore's names, `own` serves what is Torpor's."""

    def __init__(self, services: Mapping[str, App], own: App, account: str) -> None:
        self._services = dict(services)
        self._own = own
        self._account = account
        self._known = frozenset(Loader().list_available_services("service-2"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(OWN):
            await self._own(scope, receive, send)
            return
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in SCOPE_HEADERS}
        query = scope.get("query_string", b"").decode("latin-1")
        name = service_of(scope["method"], scope["path"], headers, query)
        await self._service(name)(scope, receive, send)

    def _service(self, name: str) -> App:
        """The service, or one that refuses every operation at once and in its own protocol."""
        if name not in self._services and name in self._known:
            self._services[name] = Service(name, None, {}, account=self._account)
        return self._services.get(name, _unknown)


async def _unknown(scope: Scope, receive: Receive, send: Send) -> None:
    request = opened(scope)
    await body_of(request, receive, 0 if request.method == "GET" else 1 << 30)
    message = "The request was signed for a service that AWS does not have."
    text = json.dumps({"__type": "UnknownOperationException", "message": message}).encode()
    await sent(Response(400, text, {"content-type": "application/x-amz-json-1.1"}), send)
