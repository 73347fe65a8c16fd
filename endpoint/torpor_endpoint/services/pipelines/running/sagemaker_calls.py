"""Calls SageMaker's operations of this endpoint, as a client does, without a connection."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from torpor_account.aws.wire.asgi import ACCESS, App, Message, Scope
from torpor_account.iam.execution.refused import RoleRefused
from torpor_endpoint.services.jobs.work import finished

if TYPE_CHECKING:
    from torpor_account.core.access.needs import CallerAccess


class CallRefused(Exception):
    """The operation answered an error. The text is its code and its message."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(f"{code}: {message}")
        self.is_services = status >= 500


RoleAccess = Callable[[str, str], "CallerAccess | None"]
"""What a role may do for a resource: takes the ARNs of both. None where roles are names only. Raises RoleRefused."""


def everything(role: str, resource: str) -> None:
    """Let any role do anything: roles are names only."""


class SageMakerCalls:
    """Calls as the role `role` for the resource `source`, both ARNs. `app` gives the service's application."""

    def __init__(self, app: Callable[[], App], access: RoleAccess, role: str, source: str) -> None:
        self._app = app
        self._access = access
        self._role = role
        self._source = source

    async def __call__(self, operation: str, region: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the operation, as the protocol writes it. Raises CallRefused."""
        scope, sent = await self._scope(operation, region, body := json.dumps(params).encode()), list[Message]()

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await asyncio.shield(asyncio.ensure_future(self._app()(scope, receive, send)))
        status, answer = sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])
        members = json.loads(answer or b"{}")
        if status >= 300:
            code = str(members.get("__type", "")).rpartition("#")[2]
            raise CallRefused(code, str(members.get("message", members.get("Message", ""))), status)
        return dict(members)

    async def _scope(self, operation: str, region: str, body: bytes) -> Scope:
        try:
            access = await finished(self._access, self._role, self._source)
        except RoleRefused as refused:
            raise CallRefused("ValidationException", str(refused), 400) from None
        scope = _scope(operation, region, body)
        return scope if access is None else {**scope, ACCESS: access}


def _scope(operation: str, region: str, body: bytes) -> Scope:
    signed = f"AWS4-HMAC-SHA256 Credential=torpor/20260101/{region}/sagemaker/aws4_request, SignedHeaders=, Signature="
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "content-length": str(len(body)),
        "x-amz-target": f"SageMaker.{operation}",
        "authorization": signed,
    }
    return {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
