"""A router's application at the port of its control, to which it leaves all requests but invocations."""

from collections.abc import Callable

from torpor_account.access.page_callers import is_dashboards
from torpor_account.aws.wire.asgi import Receive, Scope, Send
from torpor_account.web_pages import WebPages
from torpor_endpoint.services.service_register import RUNTIME


class AtOnePort:
    """See `torpor_container.http.exchange.PartialApp`. The control knows who is logged in to the dashboard, which
    invokes models too."""

    def __init__(self, app: WebPages, service_named: Callable[[Scope], str]) -> None:
        self._app = app
        self._service_named = service_named
        self.take_inline = app.take_inline

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def elsewhere(self, scope: Scope) -> bool:
        """Whether the control answers this request."""
        return self._service_named(scope) != RUNTIME or is_dashboards(scope)
