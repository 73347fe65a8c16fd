"""Hands unsigned query calls to their services: only the form, in the body or in the URL, names the service.

AssumeRoleWithWebIdentity is such a call: its caller has no credentials yet.
"""

from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

from torpor_account.aws.bounds import FORM_FIELDS_MAX, form_fields
from torpor_account.aws.errors import AwsError, unreadable
from torpor_account.aws.off_loop import off_loop
from torpor_account.aws.refusing import refused
from torpor_account.aws.wire.asgi import App, AwsRequest, Disconnected, Message, Receive, Scope, Send, opened, taken

FORM_LIMIT_BYTES = 1 << 20


class UnsignedForm:
    """An ASGI application for such calls. `service` finds a service by botocore's name, and `versions` has these names
    by the version of an API."""

    def __init__(self, service: Callable[[str], App | None], versions: Mapping[str, str]) -> None:
        self._service = service
        self._versions = versions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = opened(scope)
        try:
            body = await taken(scope, receive, FORM_LIMIT_BYTES)
            app = await off_loop(len(body), self._service_of, request, body)
        except Disconnected:
            return
        except AwsError as error:
            await refused(request, error, send)
        else:
            await app(scope, _replayed(body, receive), send)

    def _service_of(self, request: AwsRequest, body: bytes) -> App:
        form = f"{request.query}&{body.decode('latin-1')}"
        if form_fields(form) > FORM_FIELDS_MAX:
            raise unreadable(f"The form has more than {FORM_FIELDS_MAX} fields.")
        fields = dict(parse_qsl(form, encoding="latin-1"))
        action, version = fields.get("Action"), fields.get("Version")
        if action is None:
            raise AwsError("MissingAction", 400, "The request must contain the parameter Action.")
        name = self._versions.get(version or "")
        app = self._service(name) if name else None
        if app is None:
            raise AwsError("InvalidAction", 400, f"Could not find operation {action} for version {version}.")
        return app


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the body again, and then the messages that follow it."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return read.pop() if read else await receive()

    return received
