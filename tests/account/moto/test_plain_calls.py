"""moto runs the operation that Torpor authorised, with the parameters that Torpor read, whatever else a call says."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest
from moto.core.request import normalize_request
from moto.core.responses import BaseResponse

from torpor_account.aws.calls import Unanswered
from torpor_account.aws.errors import AwsError
from torpor_account.aws.service import Service
from torpor_account.aws.service_models import ServiceModel, service_model
from torpor_account.aws.wire.asgi import AwsRequest, Message
from torpor_account.moto.longtail import SERVICES, LongTail
from torpor_account.moto.plain_calls import plain_call

ACCOUNT = "333344445555"
FORM = "application/x-www-form-urlencoded"
JSON = "application/x-amz-json-1.1"


@pytest.fixture(scope="module")
def tail() -> Iterator[LongTail]:
    made = LongTail(ACCOUNT)
    yield made
    made.close()


def called(tail: LongTail, service: str, query: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
    """The answer to a POST as it is, without a port."""

    async def receive() -> Message:
        await asyncio.sleep(0 if whole else 60)
        return whole.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    whole: list[Message] = [{"type": "http.request", "body": body}]
    sent: list[Message] = []
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": query.encode(), "headers": pairs}
    app = Service(service, None, {}, account=ACCOUNT, otherwise=tail.answer)
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]


def listing(
    tail: LongTail, query: str = "", body: bytes = b"{}", content_type: str = JSON, **more: str
) -> tuple[int, bytes]:
    target = {"x-amz-target": "secretsmanager.ListSecrets", "content-type": content_type}
    return called(tail, "secretsmanager", query, {**target, **more}, body)


@pytest.fixture(scope="module")
def secret(tail: LongTail) -> str:
    headers = {"x-amz-target": "secretsmanager.CreateSecret", "content-type": JSON}
    body = json.dumps({"Name": "safe", "SecretString": "topsecret"}).encode()
    assert called(tail, "secretsmanager", "", headers, body)[0] == 200
    return "safe"


@pytest.mark.parametrize(
    "way",
    [
        {"query": "Action=GetSecretValue"},
        {"query": "Action=GetSecretValue&SecretId=safe"},
        {"body": b'{"SecretId": "safe", "x": "&Action=GetSecretValue&SecretId=safe&"}'},
        {"body": b"Action=GetSecretValue&SecretId=safe"},
        {"body": b"Action=GetSecretValue&SecretId=safe", "content_type": FORM},
        {"action": "GetSecretValue", "body": b""},
        {"x_amz_target": "secretsmanager.GetSecretValue"},
    ],
    ids=str,
)
def test_a_right_to_list_secrets_reads_none(tail: LongTail, secret: str, way: Mapping[str, Any]) -> None:
    """Each names ListSecrets to Torpor, and GetSecretValue in a place where moto would look."""
    _, listed = listing(tail)
    assert b"safe" in listed
    status, answer = listing(tail, **{"body": b'{"SecretId": "safe"}', **way})
    assert status in (200, 400, 415)
    assert b"topsecret" not in answer
    assert b"SecretList" in answer or status != 200


def decoys(request: AwsRequest) -> Iterator[AwsRequest]:
    """The request, with other operations in further places."""
    query, headers = "Action=Other&Action=Another", {"action": "Other", "Action": "Other", "x_amz_target": "a.Other"}
    yield request
    for path in ("/", "/1/Action", "/x.execute-api.a.amazonaws.com/"):
        yield AwsRequest("POST", path, {**request.headers, **headers}, query, request.body)


def of_query(operation: str) -> AwsRequest:
    body = f"Action=Other&Name=first&Name=last&Action={operation}".encode()
    return AwsRequest("POST", "/", {"content-type": FORM}, "", body)


def of_json(operation: str) -> AwsRequest:
    headers = {"content-type": JSON, "x-amz-target": f"a.Other.{operation}"}
    return AwsRequest("POST", "/", headers, "", b'{"x": "&Action=Other&"}')


PROTOCOLS = {"query": of_query, "json": of_json}


@pytest.mark.parametrize("service", SERVICES)
def test_moto_finds_the_operation_that_was_authorised(service: str) -> None:
    model = service_model(service)
    operation = next(name for name in model.operation_names if not needs(model, name))
    seen: list[AWSPreparedRequest] = []
    tail = LongTail(ACCOUNT, lambda request: seen.append(request), lambda *_: True)
    for protocol in PROTOCOLS.keys() & model.metadata["protocols"]:
        for request in decoys(PROTOCOLS[protocol](operation)):
            with pytest.raises(AwsError, match="moto failed"):
                asyncio.run(tail.answer(service, operation, request))
            assert run_by_moto(service, seen.pop()) == operation, (protocol, request)
    tail.close()


def needs(model: ServiceModel, operation: str) -> bool:
    """Whether the operation has a required member, or none at all."""
    shape = model.operation_model(operation).input_shape
    return shape is None or bool(shape.required_members)


def run_by_moto(service: str, prepared: AWSPreparedRequest) -> str:
    """The name of the operation by moto's own rule."""
    response = BaseResponse(service)
    response.setup_class(normalize_request(prepared))
    assert prepared.url.split("/")[2].endswith("amazonaws.com")
    return str(response._get_action())


def test_of_a_parameter_that_is_there_twice_the_last_is_forwarded_as_torpor_reads_it() -> None:
    plain = plain_call("sns", "CreateTopic", of_query("CreateTopic"))
    assert plain.body == b"Action=CreateTopic&Name=last"


@pytest.mark.parametrize(
    ("service", "request_of"),
    [("sns", of_json), ("iam", of_json), ("secretsmanager", of_query)],
)
def test_a_protocol_that_the_service_does_not_have_is_refused(service: str, request_of: Any) -> None:
    with pytest.raises(AwsError, match="does not have the protocol"):
        plain_call(service, "ListThings", request_of("ListThings"))


def test_cbor_which_moto_would_read_otherwise_is_not_forwarded() -> None:
    headers = {"smithy-protocol": "rpc-v2-cbor", "x-amz-target": "a.Other"}
    request = AwsRequest("POST", "/service/S/operation/ListDashboards", headers, "Action=Other", b"Action=Other")
    with pytest.raises(Unanswered, match="does not implement the operation ListDashboards"):
        plain_call("cloudwatch", "ListDashboards", request)


@pytest.mark.parametrize("path", ["/1/q", "/333344445555/a-b_c.fifo"])
def test_a_form_may_name_its_queue_by_the_path(path: str) -> None:
    assert (
        plain_call("sqs", "GetQueueAttributes", AwsRequest("GET", path, {}, "Action=GetQueueAttributes")).path == path
    )
    assert plain_call("sns", "ListTopics", AwsRequest("GET", path, {}, "Action=ListTopics")).path == "/"


SUBSCRIBE = (
    b"Action=Subscribe&Version=2010-03-31&TopicArn=arn:aws:sns:us-east-1:333344445555:t&Endpoint=http://127.0.0.1:9/"
)


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("", SUBSCRIBE + b"&Protocol=http"),
        ("", SUBSCRIBE + b"&Protocol=sqs&Protocol=http"),
        ("Protocol=http", SUBSCRIBE),
        ("Protocol=http", SUBSCRIBE + b"&Protocol=sqs"),
        ("Protocol=sqs", SUBSCRIBE + b"&Protocol=https"),
        ("", b"Protocol=http&" + SUBSCRIBE + b"&Protocol=sqs"),
        ((SUBSCRIBE + b"&Protocol=http").decode(), b""),
    ],
)
def test_no_way_to_write_a_subscription_reaches_the_network(tail: LongTail, query: str, body: bytes) -> None:
    form = {"content-type": FORM}
    called(tail, "sns", "", form, b"Action=CreateTopic&Version=2010-03-31&Name=t")
    called(tail, "sns", query, form, body)
    status, listed = called(tail, "sns", "", form, b"Action=ListSubscriptions&Version=2010-03-31")
    assert (status, b"<Protocol>http" in listed) == (200, False)
