import asyncio
import gzip
import logging
from typing import Any

import botocore.exceptions
import pytest

from torpor_account.aws.calls import Call, Operation
from torpor_account.aws.errors import DATABASE_AWAY, AwsError
from torpor_account.aws.in_process import client
from torpor_account.aws.service import BODY_LIMIT_BYTES, OTHERS_BODY_LIMIT_BYTES, Service
from torpor_account.aws.wire.asgi import DRAIN_MAX_BYTES, App, AwsRequest, Message, Receive, Response, taken
from torpor_account.storage.databases.database import DatabaseFault

ARN = "arn:aws:sagemaker:us-east-1:123456789012:model/a"
JSON = {"content-type": "application/x-amz-json-1.1"}


def describe_model(context: dict[str, Call], call: Call) -> dict[str, Any]:
    context["seen"] = call
    return {"ModelName": call.params["ModelName"], "ModelArn": ARN, "CreationTime": 1.5, "VpcConfig": {}, "Odd": 1}


async def list_models(context: dict[str, Call], call: Call) -> dict[str, Any]:
    context["seen"] = call
    return {"Models": [], "NextToken": None}


def delete_model(context: dict[str, Call], call: Call) -> dict[str, Any]:
    raise AwsError("ValidationException", 400, f'Could not find model "{ARN}".', {"Hint": "none"})


def create_model(context: dict[str, Call], call: Call) -> dict[str, Any]:
    raise RuntimeError("the disk is on fire")


def delete_endpoint_config(context: dict[str, Call], call: Call) -> dict[str, Any]:
    raise DatabaseFault("torpor: the database does not answer")


OPERATIONS: dict[str, Operation[dict[str, Call]]] = {
    "DescribeModel": describe_model,
    "ListModels": list_models,
    "DeleteModel": delete_model,
    "CreateModel": create_model,
    "DeleteEndpointConfig": delete_endpoint_config,
}


def service(context: dict[str, Call] | None = None) -> Service[dict[str, Call]]:
    return Service("sagemaker", {} if context is None else context, OPERATIONS, account="123456789012")


def post(operation: str, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
    """One raw call, its body in two pieces."""
    pieces = [body[:5], body[5:]]
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    given = {**JSON, "x-amz-target": f"SageMaker.{operation}", **(headers or {})}
    encoded = [(name.encode(), value.encode()) for name, value in given.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": encoded}
    asyncio.run(service()(scope, receive, send))
    return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}, sent[1]["body"]


def test_an_answer_has_no_empty_optional_member_and_nothing_that_its_shape_lacks() -> None:
    _, _, body = post("DescribeModel", b'{"ModelName": "a"}')
    assert body == f'{{"ModelName": "a", "CreationTime": 1.5, "ModelArn": "{ARN}"}}'.encode()


def test_an_empty_list_that_the_shape_requires_stays() -> None:
    assert post("ListModels", b"{}")[2] == b'{"Models": []}'


def test_a_call_knows_its_operation_region_account_and_request_id() -> None:
    context: dict[str, Call] = {}
    answer = client(service(context), region="eu-central-1").describe_model(ModelName="a")
    call = context["seen"]
    assert (call.operation, call.params, call.region) == ("DescribeModel", {"ModelName": "a"}, "eu-central-1")
    assert call.account == "123456789012"
    assert call.request_id == answer["ResponseMetadata"]["RequestId"]


def test_timestamps_arrive_as_epoch_seconds() -> None:
    context: dict[str, Call] = {}
    client(service(context)).list_models(CreationTimeAfter="2026-01-01T00:00:00Z", MaxResults=7)
    assert context["seen"].params == {"CreationTimeAfter": 1767225600.0, "MaxResults": 7}


def test_an_operations_error_reaches_boto3_with_code_text_and_members() -> None:
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        client(service()).delete_model(ModelName="a")
    assert caught.value.response["Error"] == {
        "Code": "ValidationException",
        "Message": f'Could not find model "{ARN}".',
    }
    status, headers, body = post("DeleteModel", b'{"ModelName": "a"}')
    assert (status, headers["x-amzn-errortype"]) == (400, "ValidationException")
    assert b'"Hint": "none"' in body


def test_a_database_that_is_away_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        status, headers, body = post("DeleteEndpointConfig", b'{"EndpointConfigName": "a"}')
    assert (status, headers["x-amzn-errortype"]) == (500, "InternalFailure")
    assert DATABASE_AWAY.encode() in body
    (record,) = caplog.records
    assert record.message.endswith(": torpor: the database does not answer")
    assert record.exc_info is None


def test_an_unexpected_exception_is_logged_once_and_answered_as_internal_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        status, headers, body = post("CreateModel", b'{"ModelName": "a"}')
    assert (status, headers["x-amzn-errortype"]) == (500, "InternalFailure")
    assert b"fire" not in body
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["the disk is on fire"]


@pytest.mark.parametrize("operation", ["CreateApp", "Nonsense", ""])
def test_an_operation_that_is_not_implemented_is_refused_at_once(operation: str) -> None:
    status, headers, body = post(operation, b"{}")
    assert (status, headers["x-amzn-errortype"]) == (400, "UnknownOperationException")
    assert operation.encode() in body


def test_a_query_call_to_a_json_service_gets_its_error_as_xml() -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    pairs = [(name.encode(), value.encode()) for name, value in form.items()]
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"Action=Odd&Version=1"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": pairs}
    asyncio.run(service()(scope, receive, send))
    assert sent[0]["status"] == 400
    assert b"<Code>InvalidAction</Code>" in sent[1]["body"]


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"\xff\xfe", b'{"ModelName": 3}', b'{"ModelName": "\\ud800"}', b'{"ModelName": NaN}', b"[" * 200_000],
)
def test_a_body_that_cannot_be_read_is_a_serialization_error(body: bytes) -> None:
    status, headers, _ = post("DescribeModel", body)
    assert (status, headers["x-amzn-errortype"]) == (400, "SerializationException")


def test_a_body_over_the_limit_is_refused_after_it_was_read() -> None:
    status, headers, _ = post("DescribeModel", b" " * (BODY_LIMIT_BYTES + 1))
    assert (status, headers["x-amzn-errortype"]) == (413, "RequestEntityTooLargeException")


def test_a_gzip_body_is_read_but_a_bomb_is_not() -> None:
    zipped = {"content-encoding": "gzip"}
    assert post("DescribeModel", gzip.compress(b'{"ModelName": "a"}'), zipped)[0] == 200
    assert post("DescribeModel", gzip.compress(b" " * 50_000_000), zipped)[0] == 413
    assert post("DescribeModel", b"no gzip at all", zipped)[0] == 400
    assert post("DescribeModel", gzip.compress(b'{"ModelName": "a"}')[:-9], zipped)[0] == 400


@pytest.mark.parametrize(
    "headers", [{"content-type": "text/plain"}, {"content-type": "text/xml; a=b"}, {"content-encoding": "br"}]
)
def test_a_body_of_another_type_is_refused_with_the_types_that_are_taken(headers: dict[str, str]) -> None:
    status, answered, body = post("DescribeModel", b'{"ModelName": "a"}', headers)
    assert (status, answered["x-amzn-errortype"]) == (415, "UnsupportedMediaTypeException")
    assert b"application/x-amz-json-1.0" in body or b"gzip" in body
    assert answered["content-type"] == "application/x-amz-json-1.1"


@pytest.mark.parametrize("content_type", ["application/x-amz-json-1.0", "application/json; charset=UTF-8"])
def test_json_is_taken_under_each_of_its_names(content_type: str) -> None:
    status, answered, _ = post("DescribeModel", b'{"ModelName": "a"}', {"content-type": content_type})
    assert (status, answered["content-type"]) == (200, content_type.partition(";")[0])


def test_a_body_without_end_is_not_read_for_ever() -> None:
    received: list[int] = []

    async def receive() -> Message:
        received.append(1 << 20)
        return {"type": "http.request", "body": bytes(1 << 20), "more_body": True}

    with pytest.raises(AwsError, match="RequestEntityTooLarge"):
        asyncio.run(taken({"headers": []}, receive, 1000))
    assert sum(received) <= DRAIN_MAX_BYTES + (2 << 20)


def test_a_caller_that_leaves_before_its_request_is_whole_gets_no_answer() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}
    asyncio.run(service()(scope, receive, send))
    assert sent == []


class Others:
    """Note how large the bodies are that are left to them."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def __call__(self, service: str, operation: str, request: AwsRequest) -> Response:
        self.sizes.append(len(request.body))
        return Response(200, b"{}")


def exchange(app: App, operation: str, body: bytes, receive_more: Receive | None = None) -> list[Message]:
    """One call; behind its body the caller says what `receive_more` does, else nothing."""
    pairs = [(b"content-type", JSON["content-type"].encode()), (b"x-amz-target", f"SageMaker.{operation}".encode())]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": pairs}
    bodies, sent = [body], list[Message]()

    async def receive() -> Message:
        if bodies:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}
        return await (receive_more() if receive_more else asyncio.Event().wait())  # type: ignore[return-value]

    async def send(message: Message) -> None:
        sent.append(message)

    async def call() -> None:
        await app(scope, receive, send)

    asyncio.run(call())
    return sent


def test_a_body_for_the_fallback_may_be_larger_than_one_for_an_own_operation() -> None:
    others = Others()
    app: Service[Any] = Service("sagemaker", {}, OPERATIONS, account="1", otherwise=others)
    assert exchange(app, "CreateApp", b" " * OTHERS_BODY_LIMIT_BYTES)[0]["status"] == 200
    assert exchange(app, "DescribeModel", b" " * (BODY_LIMIT_BYTES + 1))[0]["status"] == 413
    assert exchange(app, "CreateApp", b" " * (OTHERS_BODY_LIMIT_BYTES + 1))[0]["status"] == 413
    assert others.sizes == [OTHERS_BODY_LIMIT_BYTES]


def test_an_operation_is_cancelled_when_its_caller_disconnects() -> None:
    ended = []

    async def otherwise(service: str, operation: str, request: AwsRequest) -> Response:
        try:
            return await asyncio.Event().wait()  # type: ignore[return-value]  # never
        finally:
            ended.append(operation)

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    app: Service[Any] = Service("sagemaker", {}, OPERATIONS, account="1", otherwise=otherwise)
    assert exchange(app, "CreateApp", b"{}", gone) == []
    assert ended == ["CreateApp"]


def test_a_guard_runs_before_the_fallback() -> None:
    def guard(context: dict[str, Call], call: Call) -> None:
        if call.params["AppName"] == "ours":
            raise AwsError("Ours")

    others = Others()
    app: Service[Any] = Service(
        "sagemaker", {}, OPERATIONS, account="1", otherwise=others, guards={"DescribeApp": guard}
    )
    named = b'{"DomainId": "d-1", "AppType": "CodeEditor", "AppName": "%s"}'
    assert b"Ours" in exchange(app, "DescribeApp", named % b"ours")[1]["body"]
    assert exchange(app, "DescribeApp", named % b"theirs")[0]["status"] == 200
    assert len(others.sizes) == 1
