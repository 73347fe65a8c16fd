"""The errors of InvokeEndpoint: botocore's `ClientError`, with properties for its contents."""

from typing import Any

from botocore.exceptions import ClientError
from botocore.parsers import create_parser

from torpor.calling.answer import Answer

MODEL_ERROR = "ModelError"


class InvokeError(ClientError):  # type: ignore[misc]  # botocore has no types
    """InvokeEndpoint was refused. `response` is the same as in boto3's error."""

    response: dict[str, Any]

    @property
    def code(self) -> str:
        """SageMaker's error code: `ValidationError`, `ModelNotReadyException`, …"""
        return str(self.response["Error"]["Code"])

    @property
    def message(self) -> str:
        return str(self.response["Error"]["Message"] or "")

    @property
    def status(self) -> int:
        """The HTTP status."""
        return int(self.response["ResponseMetadata"]["HTTPStatusCode"])

    @property
    def request_id(self) -> str:
        return str(self.response["ResponseMetadata"].get("RequestId", ""))


class ModelError(InvokeError):
    """The model's own container answered with an error, or not at all."""

    @property
    def original_status_code(self) -> int:
        """The container's HTTP status; 0 if it gave no answer."""
        return int(self.response.get("OriginalStatusCode", 0))

    @property
    def original_message(self) -> str:
        """The container's error message."""
        return str(self.response.get("OriginalMessage", ""))

    @property
    def log_stream_arn(self) -> str:
        return str(self.response.get("LogStreamArn", ""))


def refused(answer: Answer, service_model: Any) -> InvokeError:
    """The error in an answer, read with botocore's parser and its model of the service."""
    parser = create_parser("rest-json")
    reply = {"status_code": answer.status, "headers": answer.headers, "body": answer.body, "context": {}}
    try:
        response = parser.parse(reply, None)
    except (AttributeError, UnicodeDecodeError):  # botocore's parser expects every body to be text with a JSON object
        reply["body"] = b""
        response = parser.parse(reply, None)
    code = response["Error"]["Code"]
    shape = service_model.shape_for_error_code(code)
    if shape is not None:
        response.update(parser.parse(reply, shape))
    kind = ModelError if code == MODEL_ERROR else InvokeError
    return kind(response, "InvokeEndpoint")
