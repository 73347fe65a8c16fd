"""The documents that SNS topics get: the result of a request, and the test message of a new configuration.

Sources: AWS's page "Check prediction results", and the failures that consumers of such messages read.
"""

import base64
import json
from datetime import UTC, datetime
from typing import Any

from torpor_endpoint.core.async_inference.requests import AsyncRequest, Notice
from torpor_endpoint.core.resource_records import AsyncInference

RESPONSE_MAX_BYTES = 128 * 1024
"""The largest response that a notification has."""
MESSAGE_MAX_BYTES = 256 * 1024
"""The largest message of SNS."""

TEST: dict[str, str] = {"eventVersion": "1.0", "eventSource": "aws:sagemaker", "eventName": "TestNotification"}
ON_SUCCESS, ON_ERROR = "SUCCESS_NOTIFICATION_TOPIC", "ERROR_NOTIFICATION_TOPIC"


def notice_of_result(
    request: AsyncRequest, region: str, at_s: float, content_type: str, response: bytes | None
) -> Notice | None:
    """The message for a request that has a result; None if no topic wants it. `response` is the whole result, if it is
    small enough for a message."""
    config = request.config
    if config.success_topic is None:
        return None
    document = _envelope(request, region, at_s, "Completed")
    document["responseParameters"] = {"contentType": content_type, "outputLocation": request.output}
    if response is not None and ON_SUCCESS in config.responses_in:
        content = base64.b64encode(response).decode()
        document["responseBody"] = {"content": content, "message": "", "encoding": "BASE64"}
    return _notice(config.success_topic, document)


def notice_of_failure(
    request: AsyncRequest, region: str, at_s: float, reason: str, failure: str | None, response: bytes
) -> Notice | None:
    """As `notice_of_result`, for a request that has none. `failure` is the address of the failure object, if there is
    one, and `response` its text."""
    config = request.config
    if config.error_topic is None:
        return None
    document = {**_envelope(request, region, at_s, "Failed"), "failureReason": reason}
    if failure is not None:
        document["responseParameters"] = {"failureLocation": failure}
        document["failureLocation"] = failure
    if ON_ERROR in config.responses_in and len(response) <= RESPONSE_MAX_BYTES:
        document["responseBody"] = {"content": response.decode(errors="replace"), "message": reason}
    return _notice(config.error_topic, document)


def tests_of(config: AsyncInference) -> list[Notice]:
    """The test message of an endpoint that was created or updated, for each topic of its configuration."""
    return [Notice(topic, json.dumps(TEST)) for topic in (config.success_topic, config.error_topic) if topic]


def _notice(topic: str, document: dict[str, Any]) -> Notice:
    """Without the response, if SNS would refuse the message for its size."""
    text = json.dumps(document, ensure_ascii=False)
    if len(text.encode(errors="replace")) > MESSAGE_MAX_BYTES:
        del document["responseBody"]
        text = json.dumps(document, ensure_ascii=False)
    return Notice(topic, text)


def _envelope(request: AsyncRequest, region: str, at_s: float, status: str) -> dict[str, Any]:
    asked = {"contentType": request.headers.get("content-type"), "endpointName": request.endpoint}
    if request.input is not None:
        asked["inputLocation"] = request.input
    return {
        "awsRegion": region,
        "eventTime": _time(at_s),
        "receivedTime": _time(request.received_s),
        "invocationStatus": status,
        "requestParameters": {name: value for name, value in asked.items() if value is not None},
        "inferenceId": request.inference_id,
        "eventVersion": "1.0",
        "eventSource": "aws:sagemaker",
        "eventName": "InferenceResult",
    }


def _time(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
