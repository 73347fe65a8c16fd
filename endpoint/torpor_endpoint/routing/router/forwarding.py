"""What a router leaves to its control: InvokeEndpointAsync, since the control keeps the queue, goes there whole; at the
control's own port, all else but invocations goes there with its connection."""

from collections.abc import Callable, Sequence

from torpor_account.access.page_callers import is_dashboards
from torpor_account.aws.wire.asgi import Disconnected, Receive, Scope, Send
from torpor_account.web_pages import WebPages
from torpor_endpoint.routing.protocol.forwarded import ForwardedAnswer, ForwardedRequest
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.runtime.asynchronous.async_request import BODY_MAX_BYTES
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import Passage, Step
from torpor_endpoint.runtime.passage_end import PassageEnd
from torpor_endpoint.runtime.request import read_body
from torpor_endpoint.services.service_register import RUNTIME

PASSED_ON = (b"content-type", b"x-amzn-sagemaker-")
"""How the headers begin that mean something to InvokeEndpointAsync."""
AWAY = "The queue of asynchronous requests cannot be reached now: try again."


class ForwardedAsync:
    """See `AsyncInvocations`."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    async def serve(
        self, passage: Passage, receive: Receive, send: Send, before: Sequence[Step], end: PassageEnd
    ) -> None:
        """Answer a request with the control's answer."""
        try:
            answer = await end.settled(passage, self._answered(passage, receive, before))
        except Disconnected:
            return
        if isinstance(answer, RuntimeFault):
            await end.send(passage, answer, send)
            return
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answered(self, passage: Passage, receive: Receive, before: Sequence[Step]) -> ForwardedAnswer:
        """Raises RuntimeFault, Disconnected."""
        for step in before:
            step(passage)
        body, size_bytes = await read_body(passage.scope, receive, BODY_MAX_BYTES)
        if size_bytes > BODY_MAX_BYTES:
            raise RuntimeFault(Situation.OVERSIZE, limit=BODY_MAX_BYTES)
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in passage.scope["headers"]
            if name.startswith(PASSED_ON)
        ]
        request = ForwardedRequest(passage.scope["path"], tuple(headers), b"".join(body))
        try:
            return await self._control.forward(request)
        except ControlAway as error:
            raise RuntimeFault(Situation.UNAVAILABLE, detail=AWAY) from error


class AtOnePort:
    """A router's application at its control's port (`torpor_container.http.exchange.PartialApp`). The control knows who
    is logged in to the dashboard, which invokes models too."""

    def __init__(self, app: WebPages, service_named: Callable[[Scope], str]) -> None:
        self._app = app
        self._service_named = service_named
        self.inline = app.inline

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def elsewhere(self, scope: Scope) -> bool:
        """Whether the control answers this request."""
        return self._service_named(scope) != RUNTIME or is_dashboards(scope)
