"""The runtime of a control that answers no invocations itself: it says where they belong."""

from contextlib import suppress

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Disconnected, Receive, Response, Scope, Send, sent, taken
from torpor_endpoint.runtime.app import AccountAndRegion
from torpor_endpoint.runtime.errors import RuntimeFault, Situation, wire_form
from torpor_endpoint.runtime.passage import new_request_id

TEXT = (
    "This is a control, which answers no invocations: send them to one of its routers "
    "(AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME), or start it without --no-runtime."
)


class InvocationsElsewhere:
    """An ASGI application that refuses every invocation."""

    def __init__(self, account: AccountAndRegion) -> None:
        self._account = account

    def inline(self, scope: Scope) -> None:
        """See `aws.wire.asgi.Inline`: nothing takes them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with suppress(AwsError):  # the body is too large, but the answer names the first fault
                await taken(scope, receive, 0)
        except Disconnected:
            return
        place = self._account.place("")._replace(request_id=new_request_id())
        status, headers, body = wire_form(RuntimeFault(Situation.PARAMETER, detail=TEXT), place)
        named = {name.decode(): value.decode("latin-1") for name, value in headers}
        await sent(Response(status, body, {**named, "x-amzn-requestid": place.request_id}), send)
