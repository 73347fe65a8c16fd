"""An instance's ASGI application: invocations come first, and every other request goes to the routes."""

from starlette.types import ASGIApp, Receive, Scope, Send

from torpor_container import wire
from torpor_container.contract.contract_invocations import ContractInvocations
from torpor_container.contract.invocation_heads import target_of
from torpor_container.http.exchange import TakeInline


class ContractApp:
    """`invocations` answers `/invocations` and `/models/{name}/invoke`, and `routes` all else; each path is under
    `path_prefix`."""

    def __init__(self, invocations: ContractInvocations, routes: ASGIApp, path_prefix: str = "") -> None:
        self._invocations = invocations
        self._routes = routes
        self._path = path_prefix + wire.INVOCATIONS
        self.framed = self._path.encode()
        self._models = path_prefix + wire.MODELS + "/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._routes(scope, receive, send)
        elif scope["path"] == self._path:
            await self._invocations.invoke(target_of(scope), scope, receive, send)
        elif scope["path"].startswith(self._models) and scope["path"].endswith("/invoke"):
            await self._invocations.invoke(scope["path"][len(self._models) : -len("/invoke")], scope, receive, send)
        else:
            await self._routes(scope, receive, send)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `exchange.InlineApp`."""
        return self._invocations.inline(target_of(scope), scope) if scope["path"] == self._path else None
