"""Calls SageMaker's operations of this endpoint, as a client does, without a connection."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from torpor_account.aws.wire.asgi import App, Message


class CallRefused(Exception):
    """The operation answered an error. The text is its code and its message."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(f"{code}: {message}")
        self.is_services = status >= 500


class SageMakerCalls:
    """`app` gives the service's application."""

    def __init__(self, app: Callable[[], App]) -> None:
        self._app = app

    async def __call__(self, operation: str, region: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the operation, as the protocol writes it. Raises CallRefused."""
        sent: list[Message] = []
        body = json.dumps(params).encode()

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await asyncio.shield(asyncio.ensure_future(self._app()(_scope(operation, region, body), receive, send)))
        status, answer = sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])
        members = json.loads(answer or b"{}")
        if status >= 300:
            code = str(members.get("__type", "")).rpartition("#")[2]
            raise CallRefused(code, str(members.get("message", members.get("Message", ""))), status)
        return dict(members)


def _scope(operation: str, region: str, body: bytes) -> dict[str, Any]:
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
