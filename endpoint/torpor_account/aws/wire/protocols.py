"""Finds the AWS wire protocol of a request. Clients may call one service by several protocols."""

from typing import Any, Protocol

from torpor_account.aws.errors import AwsError
from torpor_account.aws.service_models import OperationModel, ServiceModel, Shape
from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_account.aws.wire.json_rpc import JSON_1_1, JsonRpc
from torpor_account.aws.wire.query import Query
from torpor_account.aws.wire.scope import FORM, media_type


class WireProtocol(Protocol):
    """Reads requests and writes answers and errors in one wire form."""

    def operation(self, request: AwsRequest) -> str: ...

    def params(self, request: AwsRequest, shape: Shape) -> dict[str, Any]: ...

    def answer(self, operation: OperationModel, answer: dict[str, Any], request_id: str) -> Response: ...

    def error(self, error: AwsError, service: ServiceModel, request_id: str) -> Response: ...

    def unknown(self, message: str) -> AwsError: ...


def protocol_of(request: AwsRequest) -> WireProtocol:
    """The protocol by path and headers; JSON 1.1 if nothing in them names one."""
    content_type = media_type(request.headers)
    if request.path.startswith("/service/") or "smithy-protocol" in request.headers:
        from torpor_account.aws.wire.cbor import Cbor  # with botocore's codec

        return Cbor()
    if "x-amz-target" in request.headers:
        return JsonRpc(content_type or JSON_1_1)
    if content_type == FORM or "Action=" in request.query:
        return Query()
    return JsonRpc(JSON_1_1)
