"""Speaks Smithy RPC v2 with CBOR, CloudWatch's first protocol in AWS's models. botocore's codec reads and writes."""

from dataclasses import dataclass
from typing import Any

from botocore.model import DenormalizedStructureBuilder, OperationModel, ServiceModel, Shape
from botocore.parsers import ResponseParserError, RpcV2CBORParser
from botocore.serialize import RpcV2CBORSerializer

from torpor_account.aws.bounds import VALUES_MAX
from torpor_account.aws.errors import AwsError, unreadable
from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_account.aws.wire.json_rpc import error_headers, error_members
from torpor_account.aws.wire.parameter_reading import read

UNREADABLE = (ResponseParserError, ValueError, TypeError, OverflowError, MemoryError, RecursionError, RuntimeError)
"""What botocore's parser raises for bytes that are not CBOR, for wrong lengths, and for times outside the calendar."""


class _BoundedParser(RpcV2CBORParser):  # type: ignore[misc]  # botocore has no types
    """botocore's parser, for documents of at most VALUES_MAX values."""

    def __init__(self) -> None:
        super().__init__()
        self._values = 0

    def parse_data_item(self, stream: Any) -> Any:
        self._values += 1
        if self._values > VALUES_MAX:
            raise ValueError(f"more than {VALUES_MAX} values")
        return super().parse_data_item(stream)


@dataclass(frozen=True)
class Cbor:
    def operation(self, request: AwsRequest) -> str:
        return request.path.rpartition("/operation/")[2]

    def params(self, request: AwsRequest, shape: Shape) -> dict[str, Any]:
        parser = _BoundedParser()
        try:
            decoded = parser.parse_data_item(parser.get_peekable_stream_from_bytes(request.body or b"\xa0"))
        except UNREADABLE as error:
            raise unreadable("The request body is not valid CBOR.") from error
        params: dict[str, Any] = read(decoded, shape)
        return params

    def answer(self, operation: OperationModel, answer: dict[str, Any], request_id: str) -> Response:
        shape = operation.output_shape
        return _response(200, b"" if shape is None else _encoded(answer, shape), request_id, {})

    def error(self, error: AwsError, service: ServiceModel, request_id: str) -> Response:
        members = {name: str(value) for name, value in error_members(error, service).items()}
        shape = DenormalizedStructureBuilder().with_members({name: {"type": "string"} for name in members})
        body = _encoded(members, shape.build_model())
        return _response(error.status, body, request_id, error_headers(error, service))

    def unknown(self, message: str) -> AwsError:
        return AwsError("UnknownOperationException", 400, message)


def _encoded(value: dict[str, Any], shape: Shape) -> bytes:
    body = bytearray()
    RpcV2CBORSerializer()._serialize_data_item(body, value, shape)
    return bytes(body)


def _response(status: int, body: bytes, request_id: str, more: dict[str, str]) -> Response:
    headers = {"x-amzn-RequestId": request_id, "smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor"}
    return Response(status, body, {**headers, **more})
