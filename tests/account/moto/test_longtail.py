"""Operations left to moto: moto answers as the service would, or says that it cannot, and calls no network."""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ClientError

from tests.helpers.thorough_values import one_in
from tests.helpers.waiting import PATIENCE_S
from torpor_account.aws.calls import Answer, Call, NotOurs
from torpor_account.aws.in_process import client
from torpor_account.aws.service import Service
from torpor_account.aws.wire.asgi import AwsRequest, Message, Response
from torpor_account.gateway import Gateway
from torpor_account.moto.long_polls import poll_of, polled
from torpor_account.moto.longtail import SERVICES, LongTail
from torpor_endpoint.services.service_register import ADDRESSES

ACCOUNT = "333344445555"
SIGNED = "AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-west-1/{}/aws4_request, SignedHeaders=host, Signature=0"


@pytest.fixture(scope="module")
def tail() -> Iterator[LongTail]:
    made = LongTail(ACCOUNT)
    yield made
    made.close()


def left_to(tail: LongTail, service: str, region: str = "eu-west-1") -> Any:
    """A boto3 client of a service of which Torpor has nothing."""
    return client(Service(service, None, {}, account=ACCOUNT, otherwise=tail.answer), region=region)


def answering(status: int, headers: Mapping[str, str], body: str) -> LongTail:
    return LongTail(ACCOUNT, lambda request: (status, headers, body))


def failing(error: Exception) -> LongTail:
    def ask(request: AWSPreparedRequest) -> None:
        raise error

    return LongTail(ACCOUNT, ask)


@pytest.mark.thorough
def test_a_topic_delivers_a_message_to_a_queue_in_the_callers_account_and_region(tail: LongTail) -> None:
    sns, sqs = left_to(tail, "sns"), left_to(tail, "sqs")
    topic = sns.create_topic(Name="alarms")["TopicArn"]
    queue = sqs.create_queue(QueueName="alarms")["QueueUrl"]
    assert topic == f"arn:aws:sns:eu-west-1:{ACCOUNT}:alarms"
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=f"arn:aws:sqs:eu-west-1:{ACCOUNT}:alarms")
    sns.publish(TopicArn=topic, Message="it is hot")
    (message,) = sqs.receive_message(QueueUrl=queue)["Messages"]
    assert json.loads(message["Body"])["Message"] == "it is hot"


@pytest.mark.parametrize(
    ("service", "operation", "members"),
    one_in(
        3,
        [
            ("cloudwatch", "put_dashboard", {"DashboardName": "d", "DashboardBody": "{}"}),
            ("ecr", "create_repository", {"repositoryName": "images"}),
            ("events", "put_rule", {"Name": "r", "ScheduleExpression": "rate(1 minute)"}),
            ("iam", "create_user", {"UserName": "u"}),
            ("kinesis", "list_streams", {}),
            ("kms", "create_key", {}),
            ("logs", "create_log_group", {"logGroupName": "mine"}),
            ("secretsmanager", "create_secret", {"Name": "s", "SecretString": "x"}),
            ("sns", "create_topic", {"Name": "t"}),
            ("sqs", "create_queue", {"QueueName": "q"}),
            ("ssm", "put_parameter", {"Name": "p", "Value": "v", "Type": "String"}),
            ("sts", "get_session_token", {}),
        ],
    ),
)
def test_each_service_of_the_table_answers_boto3(
    tail: LongTail, service: str, operation: str, members: dict[str, Any]
) -> None:
    assert service in SERVICES
    answer = getattr(left_to(tail, service), operation)(**members)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_the_managed_policies_of_aws_are_there(tail: LongTail) -> None:
    arn = "arn:aws:iam::aws:policy/AmazonSageMakerFullAccess"
    assert left_to(tail, "iam").get_policy(PolicyArn=arn)["Policy"]["PolicyName"] == "AmazonSageMakerFullAccess"


def test_an_error_of_moto_is_passed_on_in_its_words(tail: LongTail) -> None:
    with pytest.raises(ClientError, match="NoSuchEntity"):
        left_to(tail, "iam").get_user(UserName="nobody")
    sqs = left_to(tail, "sqs")
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.get_queue_url(QueueName="nowhere")


@pytest.mark.parametrize(
    ("service", "operation", "members", "code"),
    [
        ("iam", "simulate_custom_policy", {"PolicyInputList": ["{}"], "ActionNames": ["a:b"]}, "InvalidAction"),
        ("cloudwatch", "describe_anomaly_detectors", {}, "InvalidAction|UnknownOperationException"),
        ("dynamodb", "list_tables", {}, "UnknownOperationException"),
    ],
)
def test_an_operation_that_moto_lacks_is_an_unknown_operation_at_once(
    tail: LongTail, service: str, operation: str, members: dict[str, Any], code: str
) -> None:
    with pytest.raises(ClientError, match=f"({code}).*Torpor does not implement the operation") as caught:
        getattr(left_to(tail, service), operation)(**members)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize(
    "tail",
    [
        answering(500, {"Content-Type": "text/html"}, "<html>"),
        answering(200, {"content-type": "text/html"}, "<html>"),
        answering(404, {}, "Not yet implemented"),
        answering(200, {}, "[]"),
        failing(KeyError("x")),
    ],
)
def test_an_answer_that_is_none_is_a_failure_and_no_unknown_operation(tail: LongTail) -> None:
    """moto may have done the operation."""
    with pytest.raises(ClientError, match=r"InternalFailure.*moto failed at the operation ListTopics of sns"):
        left_to(tail, "sns").list_topics()


def test_a_handler_of_moto_that_does_nothing_is_an_unknown_operation() -> None:
    with pytest.raises(ClientError, match="InvalidAction"):
        left_to(failing(NotImplementedError("no")), "sns").list_topics()


def test_a_fault_in_moto_fails_the_one_call_and_names_it(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ClientError, match="moto failed at the operation ListTopics of sns: KeyError"):
        left_to(failing(KeyError("x")), "sns").list_topics()
    assert [record.getMessage() for record in caplog.records if record.name.startswith("torpor")]


@pytest.mark.parametrize(("service", "operation"), [("sns", "list_topics"), ("sqs", "list_queues")])
def test_the_error_without_moto_names_the_extra_to_install(service: str, operation: str) -> None:
    tail = failing(ModuleNotFoundError("No module named 'moto'"))
    with pytest.raises(ClientError, match=r"pip install --editable '\.\[moto\]'") as caught:
        getattr(left_to(tail, service), operation)()
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize("protocol", ["http", "https", "lambda", "firehose"])
def test_no_subscription_that_would_leave_the_process_is_made(tail: LongTail, protocol: str) -> None:
    sns = left_to(tail, "sns")
    topic = sns.create_topic(Name=f"to-{protocol}")["TopicArn"]
    with pytest.raises(ClientError, match=f"InvalidParameter.*delivers no message by {protocol}"):
        sns.subscribe(TopicArn=topic, Protocol=protocol, Endpoint="http://127.0.0.1:9/")
    assert sns.list_subscriptions_by_topic(TopicArn=topic).get("Subscriptions", []) == []


def test_an_operation_may_pass_a_call_on_to_moto(tail: LongTail) -> None:
    def describe_log_groups(context: None, call: Call) -> Answer:
        if call.params.get("logGroupNamePrefix") != "/ours":
            raise NotOurs
        return {"logGroups": [{"logGroupName": "/ours"}]}

    table = {"DescribeLogGroups": describe_log_groups}
    logs = client(Service("logs", None, table, account=ACCOUNT, otherwise=tail.answer))
    logs.create_log_group(logGroupName="/theirs")
    assert logs.describe_log_groups(logGroupNamePrefix="/ours")["logGroups"] == [{"logGroupName": "/ours"}]
    (theirs,) = logs.describe_log_groups(logGroupNamePrefix="/theirs")["logGroups"]
    assert theirs["arn"] == f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:/theirs:*"
    alone = client(Service("logs", None, table, account=ACCOUNT))
    with pytest.raises(ClientError, match="UnknownOperationException"):
        alone.describe_log_groups()


def test_the_gateway_leaves_services_that_are_not_its_own_and_their_urls_lead_back(tail: LongTail) -> None:
    async def nobody(*_: Any) -> None:
        raise AssertionError

    async def receive() -> Message:
        return {"type": "http.request", "body": b'{"QueueName": "back"}'}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    headers = {
        "host": "127.0.0.1:4700",
        "authorization": SIGNED.format("sqs"),
        "x-amz-target": "AmazonSQS.CreateQueue",
        "content-type": "application/x-amz-json-1.0",
    }
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": pairs}
    gateway = Gateway({}, own_pages=nobody, account=ACCOUNT, addresses=ADDRESSES, otherwise=tail.answer)
    asyncio.run(gateway(scope, receive, send))
    assert json.loads(sent[1]["body"]) == {"QueueUrl": f"http://127.0.0.1:4700/{ACCOUNT}/back"}


def test_a_call_reaches_moto_with_the_headers_of_its_protocol_alone() -> None:
    seen: list[AWSPreparedRequest] = []

    def ask(request: AWSPreparedRequest) -> tuple[int, dict[str, str], bytes]:
        seen.append(request)
        return 200, {"x-amzn-requestid": "r", "server": "amazon.com"}, b"{}"

    headers = {"host": "h", "content-length": "9", "x-amz-target": "AmazonSQS.ListQueues", "x-odd": "1"}
    json_1_0 = {"content-type": "application/x-amz-json-1.0", "authorization": SIGNED.format("sqs")}
    request = AwsRequest("POST", "/1/q", {**headers, **json_1_0}, "a=b%20c", b"{}")
    response = asyncio.run(LongTail(ACCOUNT, ask).answer("sqs", "ListQueues", request))
    assert dict(response.headers) == {"x-amzn-requestid": "r", "content-type": "application/x-amz-json-1.0"}
    (asked,) = seen
    assert (asked.method, asked.body) == ("POST", b"{}")
    assert asked.url == "https://sqs.eu-west-1.amazonaws.com/?torpor="
    assert dict(asked.headers)["x-moto-account-id"] == ACCOUNT
    own = {"authorization", "content-type", "x-amz-target", "x-moto-account-id"}
    assert {name.lower() for name in asked.headers} == own


def test_the_body_of_a_get_never_reaches_moto_which_would_run_it() -> None:
    seen: list[AWSPreparedRequest] = []

    def ask(request: AWSPreparedRequest) -> tuple[int, dict[str, str], bytes]:
        seen.append(request)
        return 200, {}, b"<ListTopicsResponse/>"

    form = {"content-type": "application/x-www-form-urlencoded"}
    request = AwsRequest("GET", "/", form, "Action=ListTopics&Version=2010-03-31", b"Action=CreateTopic&Name=a")
    asyncio.run(LongTail(ACCOUNT, ask).answer("sns", "ListTopics", request))
    assert [one.body for one in seen] == [b"Action=ListTopics&Version=2010-03-31"]


def test_moto_opens_no_connection() -> None:
    """In a process of its own, since an audit hook stays."""
    code = f"""
import asyncio, sys
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_account.moto.longtail import LongTail
def hook(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        print("CALLED", event, args)
sys.addaudithook(hook)
form = {{"content-type": "application/x-www-form-urlencoded", "authorization": {SIGNED!r}}}
tail = LongTail("111122223333")
def call(service, operation, body):
    print(asyncio.run(tail.answer(service, operation, AwsRequest("POST", "/", form, "", body))).status)
call("sns", "CreateTopic", b"Action=CreateTopic&Version=2010-03-31&Name=t")
call("sns", "Publish", b"Action=Publish&Version=2010-03-31&Message=m&TopicArn=arn:aws:sns:eu-west-1:111122223333:t")
call("iam", "CreateUser", b"Action=CreateUser&Version=2010-05-08&UserName=u")
tail.close()
"""
    done = asyncio.run(_run(code))
    assert done.split() == ["200", "200", "200"]


async def _run(code: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return output.decode()


def test_a_long_poll_blocks_no_other_call_and_ends_with_the_message(tail: LongTail) -> None:
    async def story() -> None:
        queue = await created(tail, "patient")
        polling = asyncio.create_task(sqs(tail, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20))
        await asyncio.sleep(0)
        assert (await sqs(tail, "ListQueues"))["QueueUrls"]
        assert not polling.done()
        await sqs(tail, "SendMessage", QueueUrl=queue, MessageBody="at last")
        (message,) = (await asyncio.wait_for(polling, PATIENCE_S))["Messages"]
        assert message["Body"] == "at last"

    asyncio.run(story())


@pytest.mark.parametrize("body", [b'{"QueueUrl": "q", "WaitTimeSeconds": 1}', b"QueueUrl=q&WaitTimeSeconds=1"])
def test_a_poll_that_finds_nothing_is_repeated_until_its_time_is_over(body: bytes) -> None:
    asked: list[bytes] = []

    async def ask(operation: str, request: AwsRequest) -> Response:
        asked.append(request.body)
        return Response(200, b"{}")

    async def story() -> float:
        loop = asyncio.get_running_loop()
        begun_s = loop.time()

        async def pause(seconds: float) -> None:
            if len(asked) == 5:
                await asyncio.sleep(begun_s + 1 - loop.time())

        await polled(ask, request_of(body), pause)
        return loop.time() - begun_s

    assert asyncio.run(story()) >= 1
    assert len(asked) >= 5
    assert all(b"1" not in one and b"0" in one for one in asked)


@pytest.mark.parametrize("form", [False, True])
def test_a_queue_may_set_the_time_of_a_poll(tail: LongTail, form: bool) -> None:
    async def story() -> None:
        queue = await created(tail, f"long-{form}", ReceiveMessageWaitTimeSeconds="20")
        body = f"Action=ReceiveMessage&QueueUrl={queue}" if form else json.dumps({"QueueUrl": queue})
        polling = asyncio.create_task(tail.answer("sqs", "ReceiveMessage", request_of(body.encode())))
        assert await asyncio.wait({polling}, timeout=0.5) == (set(), {polling})
        await sqs(tail, "SendMessage", QueueUrl=queue, MessageBody="at last")
        assert b"at last" in (await asyncio.wait_for(polling, PATIENCE_S)).body

    asyncio.run(story())


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'{"WaitTimeSeconds": "x"}', b'{"WaitTimeSeconds": 21}', b'{"WaitTimeSeconds": -1}', b"\xff=1"],
)
def test_a_poll_that_is_none_is_left_as_it_is(body: bytes) -> None:
    assert poll_of(request_of(body)) is None


def test_a_call_that_hangs_in_moto_keeps_no_process_alive() -> None:
    code = """
import asyncio, threading
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_account.moto.longtail import LongTail
begun = threading.Event()
def ask(request):
    begun.set()
    threading.Event().wait()
async def story():
    tail = LongTail("111122223333", ask)
    calls = [tail.answer("sns", "ListTopics", AwsRequest("GET", "/", {}, "Action=ListTopics")) for _ in range(2)]
    first, second = map(asyncio.create_task, calls)
    await asyncio.to_thread(begun.wait)
    tail.close()
    assert await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED) == ({second}, {first})
    print(second.cancelled())
asyncio.run(story())
"""
    assert asyncio.run(asyncio.wait_for(_run(code), PATIENCE_S)).split() == ["True"]


def request_of(body: bytes) -> AwsRequest:
    """A ReceiveMessage in the protocol of its body."""
    form = b"=" in body
    content_type = "application/x-www-form-urlencoded" if form else "application/x-amz-json-1.0"
    target = {} if form else {"x-amz-target": "AmazonSQS.ReceiveMessage"}
    headers = {"content-type": content_type, "authorization": SIGNED.format("sqs"), **target}
    return AwsRequest("POST", "/", headers, "", body)


async def sqs(tail: LongTail, operation: str, **members: Any) -> Any:
    request = request_of(json.dumps(members).encode())
    request = replace(request, headers={**request.headers, "x-amz-target": f"AmazonSQS.{operation}"})
    answer = await tail.answer("sqs", operation, request)
    assert answer.status == 200, answer
    return json.loads(answer.body)


async def created(tail: LongTail, name: str, **attributes: str) -> str:
    queue: str = (await sqs(tail, "CreateQueue", QueueName=name, Attributes=attributes))["QueueUrl"]
    return queue
