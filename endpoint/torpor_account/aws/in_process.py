"""Makes boto3 clients that call a `Service` in this process: real requests and real parsing, without a port.

For tests and notebooks. Do not use it inside a running event loop: boto3 blocks, and each call runs its own loop.
"""

import asyncio
import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import botocore.session
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.loaders import Loader

from torpor_account.aws.service import Service
from torpor_account.aws.wire.asgi import Message

NOWHERE = "http://in-process.invalid"


def client(service: Service[Any], *, region: str = "us-east-1", protocol: str | None = None) -> Any:
    """A boto3 client of the service. `protocol` forces a wire protocol, such as `query` of earlier boto3 versions."""
    session = botocore.session.Session()
    session.set_credentials("testing", "testing")
    if protocol is not None:
        own = Loader()  # its models are changed: no other session may have them
        own.load_service_model(service.name, "service-2")["metadata"].update(protocol=protocol, protocols=[protocol])
        session.register_component("data_loader", own)
    config = Config(retries={"total_max_attempts": 1})
    made = session.create_client(service.name, region, endpoint_url=NOWHERE, config=config)
    # botocore uses the handler's return value as the answer, and sends nothing.
    made.meta.events.register("before-send", lambda request, **_: answer(service, request))
    return made


def answer(service: Service[Any], request: AWSPreparedRequest) -> AWSResponse:
    """Run one request through the service."""
    messages = asyncio.run(_exchanged(service, request))
    headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return AWSResponse(request.url, messages[0]["status"], headers, _Raw(messages[1]["body"]))


async def _exchanged(service: Service[Any], request: AWSPreparedRequest) -> list[Message]:
    url, body = urlsplit(request.url), request.body or b""
    headers = [(_bytes(name).lower(), _bytes(value)) for name, value in request.headers.items()]
    scope = {
        "type": "http",
        "method": request.method,
        "path": unquote(url.path) or "/",
        "query_string": url.query.encode(),
        "headers": headers,
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": _bytes(body), "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await service(scope, receive, send)
    return sent


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class _Raw(io.BytesIO):
    """An answer's body, in the form that botocore reads."""

    def stream(self, amount: int = 65536, **_: Any) -> Iterator[bytes]:
        while piece := self.read(amount):
            yield piece
