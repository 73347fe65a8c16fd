"""Calls of AWS's operations by a client without checks of its own, and the answers as botocore reads them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from torpor_account.aws.wire.asgi import App, Message

SIGNED = "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260101/us-east-1/{}/aws4_request, SignedHeaders=host"


@dataclass(frozen=True)
class Outcome:
    """One answer. `members` has its output, or its error's Code and Message below `Error`."""

    status: int
    members: Mapping[str, Any]

    @property
    def code(self) -> str:
        """The error's code; empty where there is none."""
        return str(self.members.get("Error", {}).get("Code", "")) if self.status >= 300 else ""

    @property
    def message(self) -> str:
        return str(self.members.get("Error", {}).get("Message", ""))


@cache
def model_of(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


@cache
def protocol_of(service: str) -> str:
    """JSON or the query protocol where the service has it: one of those that every client has."""
    protocols = model_of(service).metadata["protocols"]
    return next(one for one in ("json", "query", "rest-json", "rest-xml") if one in protocols)


def scope_of(service: str, operation: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The ASGI scope and the body of a call."""
    model, protocol = model_of(service), protocol_of(service)
    serializer = create_serializer(protocol, include_validation=False)
    wired = serializer.serialize_to_request(dict(params), model.operation_model(operation))
    body, headers = wired["body"], {**wired["headers"], "authorization": SIGNED.format(model.signing_name)}
    if protocol == "query":
        body, headers["content-type"] = urlencode(body), "application/x-www-form-urlencoded"
    path, _, own = str(wired["url_path"]).partition("?")
    query = "&".join(filter(None, (own, urlencode(wired["query_string"] or {}))))
    body = body.encode() if isinstance(body, str) else bytes(body or b"")
    headers["content-length"] = str(len(body))
    scope = {
        "type": "http",
        "method": wired["method"],
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), str(value).encode()) for name, value in headers.items()],
    }
    return scope, body


async def called(app: App, service: str, operation: str, params: Mapping[str, Any]) -> Outcome:
    """Call one operation of the service that `app` answers."""
    scope, body = scope_of(service, operation, params)
    sent: list[Message] = []
    hung_up = asyncio.Event()
    given = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        for message in given:
            return message
        await hung_up.wait()
        raise AssertionError("the caller stays")

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    answer = {
        "status_code": sent[0]["status"],
        "headers": {name.decode(): value.decode() for name, value in sent[0]["headers"]},
        "body": b"".join(message.get("body", b"") for message in sent[1:]),
        "context": {"operation_name": operation},
    }
    called_operation = model_of(service).operation_model(operation)
    if called_operation.has_event_stream_output and answer["status_code"] < 300:
        return Outcome(answer["status_code"], {})
    shape = called_operation.output_shape
    return Outcome(answer["status_code"], create_parser(protocol_of(service)).parse(answer, shape))
