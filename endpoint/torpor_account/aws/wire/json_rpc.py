"""Speaks the JSON 1.0 and 1.1 protocols: the operation is in `X-Amz-Target`, and bodies are JSON objects."""

import base64
import json
import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from torpor_account.aws.bounds import VALUES_MAX, json_values
from torpor_account.aws.errors import AwsError, unreadable, unsupported
from torpor_account.aws.service_models import OperationModel, ServiceModel, Shape
from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_account.aws.wire.parameter_reading import read

JSON_1_1 = "application/x-amz-json-1.1"
CONTENT_TYPES = (JSON_1_1, "application/x-amz-json-1.0", "application/json")


@dataclass(frozen=True)
class JsonRpc:
    """One request's protocol. The answer has the request's `content_type` if it is one of CONTENT_TYPES."""

    content_type: str

    def operation(self, request: AwsRequest) -> str:
        return request.headers.get("x-amz-target", "").rpartition(".")[2]

    def params(self, request: AwsRequest, shape: Shape) -> dict[str, Any]:
        if self.content_type not in CONTENT_TYPES:
            raise unsupported(f"The content type is {self.content_type}: send one of {', '.join(CONTENT_TYPES)}.")
        if json_values(request.body) > VALUES_MAX:
            raise unreadable(f"The request body has more than {VALUES_MAX} values.")
        try:
            decoded = json.loads(request.body or b"{}", parse_constant=_refused)
        except (ValueError, RecursionError) as error:
            raise unreadable("The request body is not valid JSON.") from error
        params: dict[str, Any] = read(decoded, shape)
        return params

    def answer(self, operation: OperationModel, answer: dict[str, Any], request_id: str) -> Response:
        body = writable(answer, operation.output_shape) if operation.output_shape else None
        return self._response(200, body, request_id)

    def error(self, error: AwsError, service: ServiceModel, request_id: str) -> Response:
        members = error_members(error, service)
        return self._response(error.status, members, request_id, error_headers(error, service))

    def unknown(self, message: str) -> AwsError:
        return AwsError("UnknownOperationException", 400, message)

    def _response(self, status: int, body: Any, request_id: str, more: dict[str, str] | None = None) -> Response:
        content_type = self.content_type if self.content_type in CONTENT_TYPES else JSON_1_1
        headers = {"x-amzn-RequestId": request_id, "content-type": content_type, **(more or {})}
        return Response(status, b"" if body is None else json.dumps(body).encode(), headers)


def error_type(error: AwsError, service: ServiceModel) -> str:
    """The name of the error's shape, else its code. The two differ in services that once had the query protocol."""
    shape = service.shape_for_error_code(error.code)
    return str(shape.name) if shape else error.code


def error_members(error: AwsError, service: ServiceModel) -> dict[str, Any]:
    """The members of the error. Services of AWS differ: the text is `Message` if the model says so, else `message`."""
    shape = service.shape_for_error_code(error.code)
    message = "Message" if shape and "Message" in shape.members else "message"
    return {"__type": error_type(error, service), message: error.message, **error.members}


def error_headers(error: AwsError, service: ServiceModel) -> dict[str, str]:
    headers = {"x-amzn-ErrorType": error_type(error, service)}
    if "awsQueryCompatible" in service.metadata:  # the code that the error has in the query protocol
        headers["x-amzn-query-error"] = f"{error.code};{'Sender' if error.senders_fault else 'Receiver'}"
    return headers


def writable(value: Any, shape: Shape) -> Any:
    """The value in a form for `json.dumps`: timestamps as epoch seconds, blobs in base64."""
    match shape.type_name:
        case "structure" if not shape.is_document_type:
            names = {name: member.serialization.get("name", name) for name, member in shape.members.items()}
            return {names[name]: writable(item, shape.members[name]) for name, item in value.items()}
        case "list":
            return [writable(item, shape.member) for item in value]
        case "map":
            return {key: writable(item, shape.value) for key, item in value.items()}
        case "timestamp":
            return round(value.timestamp() if isinstance(value, datetime) else value, 3)
        case "blob":
            return base64.b64encode(value).decode()
        case "double" | "float" if not math.isfinite(value):
            return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
        case _:
            return value


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
